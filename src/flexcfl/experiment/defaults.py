"""What a dataset brings along: the settings of the paper's experiments (Section 5.1).

Command-line options, files and ``--set`` override every one of them.
"""

from dataclasses import dataclass, fields

from flexcfl.algorithms import AlgorithmEntry
from flexcfl.experiment.experiment import Tables
from flexcfl.experiment.named import NAMED

__all__ = ["ALGORITHM", "DATASET", "OTHERS", "Defaults", "defaults"]

DATASET = "digits"
ALGORITHM = "flexcfl"


@dataclass(frozen=True)
class Defaults:
    """Settings that suit one dataset.

    ``prox``, ``groups`` and ``alpha`` (founders per group) are for algorithms that use them; an
    algorithm has its own default for an ``alpha`` of None. ``shift`` names how its clients' data
    change.
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
# Ten founders for each group leave a part of the clients to come as newcomers. The digits are for
# a first look, and what there is to see is a world that moves.
OURS = {
    "digits": Defaults(groups=5, alpha=10, rate=0.1, rounds=100, shift=("swap-all",)),
    "clusters": Defaults(groups=3, alpha=10, rate=0.1, rounds=100),
}
OTHERS = Defaults()


def defaults(dataset: str, algorithm: AlgorithmEntry) -> Tables:
    """Return the tables that a dataset brings for an algorithm."""
    own = (PAPER | OURS).get(dataset, OTHERS)
    prox = own.prox if algorithm.proximal else 0.0
    has = {option.name for option in fields(algorithm.options)}
    options = {"groups": own.groups, "alpha": own.alpha}
    return {
        "data": {},
        "model": {"name": own.model},
        "algorithm": {
            name: value for name, value in options.items() if name in has and value is not None
        },
        "local": {"epochs": own.epochs, "batch": own.batch, "rate": own.rate, "prox": prox},
        "shift": {"name": list(own.shift)},
        **{table: {"name": kind.default} for table, kind in NAMED.items()},
        **{table: {} for table in ("guards", "faults", "privacy", "network")},
        "run": {"rounds": own.rounds, "cohort": own.cohort, "cohorts": algorithm.cohorts},
    }
