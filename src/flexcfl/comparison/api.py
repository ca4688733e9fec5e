"""``flexcfl.compare``: what the command does, from Python."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console

from flexcfl.comparison.asked import Asked
from flexcfl.comparison.conduct import conduct
from flexcfl.comparison.plan import DEFAULT, check_number
from flexcfl.comparison.result import Comparison
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.experiment.layers import assigned, keyword_homes, spoken
from flexcfl.settings import keywords, shown

__all__ = ["compare"]


@keywords(keyword_homes)
def compare(
    algorithms: Sequence[str] = DEFAULT,
    *,
    dataset: str | Federation | None = None,
    model: str | Callable[[], object] | None = None,
    shift: str | Sequence[str] | None = None,
    drift: str | None = None,
    seeds: int = 3,
    jobs: int | None = None,
    groups: int | Literal["auto"] | None = None,
    rounds: int | None = None,
    cohort: int | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    data: str | Path | None = None,
    device: str | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002  (the command's --set)
    out: str | Path | None = None,
    progress: bool = False,
    track: str | Sequence[str] = (),
) -> Comparison:
    """Run algorithms on the same clients, cohorts and shifts, with several seeds, in parallel.

    Args:
        algorithms: Names such as ``["fedavg", "flexcfl"]``.
        dataset: A name such as ``"mnist"``, or a federation of your own.
        model: ``"mclr"``, ``"mlp"``, ``"cnn"``, ``"package.module:factory"``, or such a factory
            itself.
        shift: How clients' data change, such as ``"swap-all"``; several act together, ``"none"``
            keeps them as they are.
        drift: How clients notice that their data have drifted, a name such as ``"label-share"``.
        seeds: How many seeds, counted from 0.
        jobs: How many runs at once, each in a process of its own on one core; by default as many as
            there are cores.
        groups: How many groups the clustered algorithms make.
        rounds: How many communication rounds.
        cohort: How many clients take part in a round.
        epochs: How often a client goes through its own data in a round.
        batch: How many examples make a mini-batch.
        rate: The clients' learning rate.
        data: The folder in which the dataset's files are looked for first.
        device: Where to compute, such as ``"cpu"`` or ``"cuda"``.
        set: Any other setting, as for ``flexcfl.run``. One that only some of the algorithms have
            is given to those.
        out: The folder to write; without one, nothing is written. If it holds this very comparison,
            begun earlier, that goes on: finished runs are not done again, others are resumed.
        progress: Whether to show what the command shows: settings, rounds and results.
        track: Names of trackers that log every run, ``"tensorboard"`` (with ``out``) or
            ``"mlflow"``.

    Example:
        >>> import flexcfl
        >>> comparison = flexcfl.compare(["fedavg", "flexcfl"], seeds=1, rounds=10)
        >>> [row.algorithm for row in comparison.table]
        ['fedavg', 'flexcfl']

    """
    federation = dataset if isinstance(dataset, Federation) else None
    given = {
        "dataset": federation.name if federation else dataset,
        "model": _named(model) if callable(model) else model,
        "shift": shift,
        "drift": drift,
        "groups": groups,
        "rounds": rounds,
        "cohort": cohort,
        "epochs": epochs,
        "batch": batch,
        "rate": rate,
        "data": data,
        "device": device,
    }
    if jobs is not None:
        check_number("jobs", jobs)
    said = spoken(given, assigned(set))
    return conduct(
        Asked.of(_several(algorithms), seeds, said, federation),
        Console(quiet=not progress),
        jobs=jobs,
        folder=Path(out) if out is not None else None,
        federation=federation,
        track=[track] if isinstance(track, str) else list(track),
    )


def _several(algorithms: object) -> list[str]:
    if isinstance(algorithms, str) or not isinstance(algorithms, Sequence):
        raise SettingsError(
            f"algorithms must be a list such as ['fedavg', 'flexcfl'], not {algorithms!r:.60}."
        )
    for each in algorithms:
        if not isinstance(each, str):
            raise SettingsError(
                f"algorithms must be a list of names such as ['fedavg', 'flexcfl'], and has "
                f"{shown(each)} in it: name one of your own as 'package.module:entry'."
            )
    return list(algorithms)


def _named(factory: Callable[[], object]) -> str:
    """Return the name by which other processes find a factory."""
    module, name = getattr(factory, "__module__", ""), getattr(factory, "__qualname__", "")
    found = getattr(sys.modules.get(module), name, None)
    if found is not factory or module == "__main__":
        raise SettingsError(
            f"The model {name or factory!r:.60} cannot be found by other processes: define it at "
            "the top of a module that can be imported, and name it as package.module:factory."
        )
    return f"{module}:{name}"
