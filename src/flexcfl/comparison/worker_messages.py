"""What a comparison and its worker processes send each other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from flexcfl.errors import DataError, FlexcflError, ModelError, SettingsError, TrainingError
from flexcfl.experiment.experiment import Experiment
from flexcfl.record.record import Record
from flexcfl.record.summary import Summary

__all__ = [
    *("Done", "Event", "Failed", "Faulty", "Message", "News", "Remark", "Resumed", "RoundDone"),
    *("Started", "Task", "RunSpec"),
]

# The errors that are made from their sentence alone, as others cannot be sent to another process.
KINDS = (SettingsError, DataError, ModelError, TrainingError, FlexcflError)


class RunSpec(Protocol):
    """A run to be carried out."""

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
        """What it is called in error messages."""
        ...


@dataclass(frozen=True)
class Task:
    """A run to begin or to resume, the folder to write, if any, and the names of trackers."""

    experiment: Experiment
    folder: Path | None
    track: tuple[str, ...] = ()


@dataclass(frozen=True)
class Started:
    """A run has been given to a worker."""


@dataclass(frozen=True)
class Resumed:
    """A run goes on after this round, with the last accuracy that was measured, if any."""

    number: int
    accuracy: float | None


@dataclass(frozen=True)
class Remark:
    """Something that the user should know, such as that a checkpoint was damaged."""

    sentence: str


@dataclass(frozen=True)
class RoundDone:
    """A round is over; the accuracy is None where it was not measured."""

    number: int
    accuracy: float | None


@dataclass(frozen=True, eq=False)
class Done:
    """The run is over: its summary, and the accuracy of each round, NaN where there is none.

    ``honest`` is the accuracy of the clients that do not attack. ``before`` says that the run was
    finished by an earlier call.
    """

    summary: Summary
    accuracy: Any
    honest: Any = ()
    before: bool = False

    @classmethod
    def of(cls, run: Record, before: bool = False) -> "Done":
        """Return the message for a finished run, which an earlier call may have finished."""
        assert run.summary is not None
        rounds = run.rounds
        return cls(run.summary, rounds["accuracy"], rounds["honest_accuracy"], before)


@dataclass(frozen=True)
class Failed:
    """The run cannot be done, for a reason that the user can fix.

    ``begun`` says that it had begun; what is wrong before that is wrong for other runs as well.
    """

    kind: type[FlexcflError]
    sentence: str
    begun: bool

    @classmethod
    def of(cls, error: FlexcflError, begun: bool) -> "Failed":
        """Return the message for an error."""
        return cls(next(kind for kind in KINDS if isinstance(error, kind)), str(error), begun)

    def error(self, run: RunSpec) -> FlexcflError:
        """Return the error to raise, which names the run if it had begun."""
        return self.kind(f"{run.title} failed: {self.sentence}" if self.begun else self.sentence)


@dataclass(frozen=True)
class Faulty:
    """The run cannot be done, because of a bug in the program."""

    trace: str


News: TypeAlias = Resumed | Remark | RoundDone | Done
Message: TypeAlias = News | Failed | Faulty
Event: TypeAlias = tuple[RunSpec, Started | News]
