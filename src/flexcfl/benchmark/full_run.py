"""A full run of FlexCFL on clients whose data change, and how much of its time is training."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from flexcfl.benchmark.machine import peak_memory
from flexcfl.experiment.layers import options_layer
from flexcfl.experiment.resolve import resolve
from flexcfl.record.tables import Round
from flexcfl.runner.execute import execute
from flexcfl.runner.prepare import Prepared, prepare


@dataclass(frozen=True)
class FullRun:
    """The seconds of a run without loading, and the seconds in which clients trained.

    Both include the pre-training of founders, newcomers and migrants. ``memory`` is the peak memory
    of the process in bytes, ``early_memory`` its peak after a tenth of the rounds.
    """

    rounds: int
    seconds: float
    training: float
    evaluation: float
    early_memory: int
    memory: int

    @property
    def ratio(self) -> float:
        """The duration of the run divided by that of its client steps."""
        return self.seconds / self.training


def full_run(
    data: Path | None,
    rounds: int = 300,
    tell: Callable[[], object] = lambda: None,
    **settings: object,
) -> FullRun:
    """Run FlexCFL on MNIST under swap-all, and evaluate all clients in every round."""
    execute(_prepared(dataset="digits", rounds=1))  # a warm-up: founding groups imports modules
    prepared = _prepared(**{"dataset": "mnist", "data": data, "rounds": rounds, **settings})
    early = [0]

    def view(done: Iterator[Round]) -> Iterator[Round]:
        for each in done:
            if each.figures.round == max(1, rounds // 10):
                early[0] = peak_memory()
            tell()
            yield each

    training, evaluation = _watched(prepared.engine, "train"), _watched(prepared.engine, "evaluate")
    started = perf_counter()
    execute(prepared, view)
    seconds = perf_counter() - started
    return FullRun(rounds, seconds, sum(training), sum(evaluation), early[0], peak_memory())


def _prepared(**settings: object) -> Prepared:
    said = options_layer({"algorithm": "flexcfl", "shift": "swap-all", **settings}, {})
    return prepare(resolve([said]).experiment)


def _watched(engine: Any, name: str) -> list[float]:
    """Return a list that records the seconds of each call of one of the engine's methods."""
    seconds: list[float] = []
    method = getattr(engine, name)

    def watched(*given: Any) -> Any:
        started = perf_counter()
        try:
            return method(*given)
        finally:
            seconds.append(perf_counter() - started)

    setattr(engine, name, watched)
    return seconds
