"""Who accompanies a run: told when it begins, of every round, and how it ends."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from flexcfl.runner.experiment import Experiment
from flexcfl.runner.figures import Figures, GroupFigures
from flexcfl.runner.loop import Round
from flexcfl.runner.result import Run

__all__ = ["Beginning", "Callback", "View", "accompanied"]

View: TypeAlias = Callable[[Iterator[Round]], Iterator[Round]]


@dataclass(frozen=True, eq=False)
class Beginning:
    """What begins: the experiment, and the folder of the run, None where nothing is written.

    Where a run goes on, ``rounds`` and ``groups`` are the figures of the rounds that need not be
    done again, as ``rounds.csv`` and ``groups.csv`` have them.
    """

    experiment: Experiment
    folder: Path | None = None
    rounds: Sequence[Figures] = ()
    groups: Sequence[GroupFigures] = ()

    @property
    def before(self) -> int:
        """How many rounds were done before."""
        return len(self.rounds)


class Callback(Protocol):
    """Accompanies a run: ``flexcfl.run(..., callbacks=[...])``.

    Whoever inherits from it need only say what it does where it does anything. A run is the same,
    byte for byte, with callbacks or without. What one raises breaks the run off, and as long as
    there is no first round nothing may be in the folder of a run but what the run puts there.
    """

    def begin(self, beginning: Beginning) -> None:
        """Hear that a run begins or goes on, when all is loaded and checked."""
        return

    def round(self, done: Round) -> None:
        """Hear of a finished round, which is written down where the run has a folder."""
        return

    def end(self, run: Run) -> None:
        """Hear that a run is finished, with all that is in its folder."""
        return

    def break_off(self, error: BaseException) -> None:
        """Hear that a run has not come to its end: it was stopped, or has failed.

        It may even be what ``begin`` has raised itself.
        """
        return


def accompanied(
    execute: Callable[[View], Run], callbacks: Iterable[Callback], beginning: Beginning
) -> Run:
    """Execute a run whose rounds pass through a view, and tell callbacks of everything."""
    company: list[Callback] = []
    try:
        for each in callbacks:
            company.append(each)
            each.begin(beginning)
        run = execute(lambda rounds: _told(rounds, company))
        while company:
            company[0].end(run)
            del company[0]
    except BaseException as error:
        for each in company:
            with suppress(Exception):  # it is the first trouble that is told
                each.break_off(error)
        raise
    return run


def _told(rounds: Iterator[Round], company: Sequence[Callback]) -> Iterator[Round]:
    for done in rounds:
        for each in company:
            each.round(done)
        yield done
