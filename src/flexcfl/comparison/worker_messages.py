"""What a comparison and its worker processes send each other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from flexcfl.errors import DataError, FlexcflError, ModelError, SettingsError, TrainingError
from flexcfl.experiment.experiment import Experiment
from flexcfl.record.record import Record
from flexcfl.record.summary import Summary

# Errors that their sentence alone can rebuild; others cannot be sent to another process.
KINDS = (SettingsError, DataError, ModelError, TrainingError, FlexcflError)


class RunSpec(Protocol):
    """A run to do."""

    @property
    def experiment(self) -> Experiment:
        """All settings of the run."""
        ...

    @property
    def folder(self) -> str:
        """The name of its folder within the folder of all runs; names are unique."""
        ...

    @property
    def title(self) -> str:
        """The name of the run in error messages."""
        ...


@dataclass(frozen=True)
class Task:
    """A run to begin or to resume, its folder, if any, and the names of trackers."""

    experiment: Experiment
    folder: Path | None
    track: tuple[str, ...] = ()


@dataclass(frozen=True)
class Started:
    """A run has been given to a worker."""


@dataclass(frozen=True)
class Resumed:
    """A run is resumed after this round; ``accuracy`` is the last one that was measured, if any."""

    number: int
    accuracy: float | None


@dataclass(frozen=True)
class Remark:
    """Something that the user should know, such as that a checkpoint was damaged."""

    sentence: str


@dataclass(frozen=True)
class RoundDone:
    """A round is over; the accuracy is None if it was not measured."""

    number: int
    accuracy: float | None


@dataclass(frozen=True, eq=False)
class Done:
    """A run is finished: its summary and the accuracy of each round, NaN if not measured.

    ``honest`` is the accuracy of the clients that do not attack. ``before`` says whether an earlier
    call has finished the run.
    """

    summary: Summary
    accuracy: Any
    honest: Any = ()
    before: bool = False

    @classmethod
    def of(cls, run: Record, before: bool = False) -> "Done":
        """Return the message for a finished run."""
        assert run.summary is not None
        rounds = run.rounds
        return cls(run.summary, rounds["accuracy"], rounds["honest_accuracy"], before)


@dataclass(frozen=True)
class Failed:
    """A run failed for a reason that the user can fix.

    ``begun`` says whether it had begun; an error before that concerns the other runs as well.
    """

    kind: type[FlexcflError]
    sentence: str
    begun: bool

    @classmethod
    def of(cls, error: FlexcflError, begun: bool) -> "Failed":
        """Return the message for an error."""
        return cls(next(kind for kind in KINDS if isinstance(error, kind)), str(error), begun)

    def error(self, run: RunSpec) -> FlexcflError:
        """Return the error to raise; it names the run if that had begun."""
        return self.kind(f"{run.title} failed: {self.sentence}" if self.begun else self.sentence)


@dataclass(frozen=True)
class Faulty:
    """A run failed because of a bug in the program."""

    trace: str


News: TypeAlias = Resumed | Remark | RoundDone | Done
Message: TypeAlias = News | Failed | Faulty
Event: TypeAlias = tuple[RunSpec, Started | News]
