"""Default settings of each dataset, such as those of the paper's experiments (Section 5.1).

Command-line options, files and ``--set`` override all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from flexcfl.algorithms import AlgorithmEntry
from flexcfl.experiment.choices import KINDS, NAMED

Flat: TypeAlias = Mapping[str, Any]  # values by "table.key"

DATASET, ALGORITHM = KINDS["data"].default, KINDS["algorithm"].default


@dataclass(frozen=True)
class Defaults:
    """Settings that suit one dataset.

    ``prox``, ``groups`` and ``alpha`` (founders per group) apply only to algorithms that use them.
    If ``alpha`` is None, the algorithm's own default applies. ``shift`` names the shifts of the
    clients' data.
    """

    model: str = "mclr"
    rate: float = 0.03
    groups: int = 5
    alpha: int | None = None
    prox: float = 1.0
    rounds: int = 300
    cohort: int = 20
    epochs: int = 10
    batch: int = 10
    shift: tuple[str, ...] = ()


PAPER = {
    "mnist": Defaults(groups=3, rate=0.03),
    "femnist": Defaults(groups=5, rate=0.003),
    "synthetic": Defaults(groups=5, rate=0.01),
    "fashion-mnist": Defaults(groups=5, rate=0.005, model="cnn"),
}
# With ten founders for each group, some of the clients join later as newcomers. The digits are for
# a first look at flexcfl, so their data shift by default.
OURS = {
    "digits": Defaults(groups=5, alpha=10, rate=0.1, rounds=100, shift=("swap-all",)),
    "clusters": Defaults(groups=3, alpha=10, rate=0.1, rounds=100),
}


def defaults(dataset: str, algorithm: AlgorithmEntry) -> dict[str, Any]:
    """Return the default settings of a dataset for an algorithm."""
    own = (PAPER | OURS).get(dataset, Defaults())
    options = {"groups": own.groups, "alpha": own.alpha}
    known = {option.name for option in fields(algorithm.options)}
    has = {key: value for key, value in options.items() if key in known and value is not None}
    return {
        "model.name": own.model,
        **{f"algorithm.{key}": value for key, value in has.items()},
        "local.epochs": own.epochs,
        "local.batch": own.batch,
        "local.rate": own.rate,
        "local.prox": own.prox if algorithm.proximal else 0.0,
        "shift.name": list(own.shift),
        **{f"{table}.name": kind.default for table, kind in NAMED.items()},
        "run.rounds": own.rounds,
        "run.cohort": own.cohort,
        "run.cohorts": algorithm.cohorts,
    }
