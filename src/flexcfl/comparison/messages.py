"""What a comparison and its processes say to each other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from flexcfl.errors import FlexcflError
from flexcfl.experiment.experiment import Experiment
from flexcfl.record.finished import FinishedRun
from flexcfl.record.summary import Summary

__all__ = [
    *("Done", "Failed", "Faulty", "Message", "Remark", "Resumed", "RoundDone", "Task"),
    "Work",
]


class Work(Protocol):
    """A run that is to be carried out, as whoever carries it out knows it."""

    @property
    def experiment(self) -> Experiment:
        """All of its settings."""
        ...

    @property
    def folder(self) -> str:
        """The name of its folder within that of all runs; no two have the same."""
        ...

    @property
    def title(self) -> str:
        """What it is called where it fails."""
        ...


@dataclass(frozen=True)
class Task:
    """A run to do or to go on with, the folder to leave, if any, and the names of trackers."""

    experiment: Experiment
    folder: Path | None
    track: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resumed:
    """A run goes on after a round, with the accuracy that it had by then, if any."""

    number: int
    accuracy: float | None


@dataclass(frozen=True)
class Remark:
    """Something that a person should know, such as that a checkpoint was damaged."""

    sentence: str


@dataclass(frozen=True)
class RoundDone:
    """A round is over; the accuracy is None where it was not measured."""

    number: int
    accuracy: float | None


@dataclass(frozen=True, eq=False)
class Done:
    """The run is over: its summary, and the accuracy of each round, NaN where there is none.

    ``honest`` is that of the clients that do not attack. ``before`` says that it had been over
    before anybody asked for it.
    """

    summary: Summary
    accuracy: Any
    honest: Any = ()
    before: bool = False

    @classmethod
    def earlier(cls, run: FinishedRun) -> "Done":
        """Say that a run had been over before."""
        return cls(run.summary, run.accuracy, run.honest, before=True)


@dataclass(frozen=True)
class Failed:
    """The run cannot be done, for a reason that a person can mend.

    ``begun`` says that it had begun; what is wrong before that is wrong for other runs as well.
    """

    kind: type[FlexcflError]
    sentence: str
    begun: bool


@dataclass(frozen=True)
class Faulty:
    """The run cannot be done, because the program has a fault."""

    trace: str


Message: TypeAlias = Resumed | Remark | RoundDone | Done | Failed | Faulty
