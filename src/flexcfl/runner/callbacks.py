"""Callbacks, which follow a run: its beginning, every round, and its end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

from rich.console import Console

from flexcfl import lines
from flexcfl.errors import DiskError, FlexcflError, SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.extensions import error_summary
from flexcfl.record.tables import GroupFigures, Round, RoundFigures
from flexcfl.runner.result import Run

View: TypeAlias = Callable[[Iterator[Round]], Iterator[Round]]
Tell: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Beginning:
    """The beginning of a run, as ``Callback.begin`` gets it.

    Attributes:
        experiment: All settings of the run.
        folder: The folder of the run, or None if nothing is written.
        rounds: If the run is resumed, the rows of ``rounds.csv`` for the rounds that are done.
        groups: If the run is resumed, the rows of ``groups.csv`` for these rounds.

    """

    experiment: Experiment
    folder: Path | None = None
    rounds: Sequence[RoundFigures] = ()
    groups: Sequence[GroupFigures] = ()

    @property
    def before(self) -> int:
        """The number of rounds that were done before."""
        return len(self.rounds)


class Callback(Protocol):
    """Follows a run: ``flexcfl.run(..., callbacks=[...])``.

    A subclass overrides only the methods that it needs. A run is the same, byte for byte, with and
    without callbacks. Before the first round, a callback must not write into the folder of the run.

    An exception raised by a callback ends the run. An ``optional`` callback, such as those of
    ``flexcfl.runner.tracking``, is instead reported once on stderr and not called again. A
    ``SettingsError`` raised by ``begin`` always refuses the run.

    Example:
        >>> import flexcfl
        >>> class Accuracies(flexcfl.Callback):
        ...     def __init__(self):
        ...         self.values = []
        ...
        ...     def round(self, done):
        ...         self.values.append(done.figures.accuracy)
        >>> accuracies = Accuracies()
        >>> run = flexcfl.run(dataset="digits", rounds=2, callbacks=[accuracies])
        >>> len(accuracies.values)
        2

    """

    optional: ClassVar[bool] = False

    def begin(self, beginning: Beginning) -> None:
        """Handle the beginning or resumption of a run, after everything is loaded and checked."""
        return

    def round(self, done: Round) -> None:
        """Handle a finished round; if the run has a folder, the round is already written."""
        return

    def end(self, run: Run) -> None:
        """Handle the end of a finished run, whose folder is complete."""
        return

    def break_off(self, error: BaseException) -> None:
        """Handle a run that is stopped or fails.

        The ``error`` may be one that this callback raised itself; it is not called again.
        """
        return


def callback_list(callbacks: object) -> list[Callback]:
    """Return callbacks as a list, or raise ``SettingsError`` if one is not a callback."""
    given: list[Any] = list(callbacks) if isinstance(callbacks, Iterable) else [None]
    needed = ("begin", "round", "end", "break_off")
    for each in given:
        # A class instead of an object would have these methods, too.
        if isinstance(each, type) or not all(hasattr(each, name) for name in needed):
            raise SettingsError(
                "callbacks must be a list of objects such as "
                f"[flexcfl.runner.tracking.TensorBoard()], not {callbacks!r:.60}."
            )
    return given


def remark(sentence: str) -> None:
    """Print a sentence on stderr, above a progress bar, even if nothing else is shown."""
    lines.tell(sentence, Console(stderr=True))


@contextmanager
def following(
    callbacks: Iterable[Callback], beginning: Beginning, tell: Tell = remark
) -> Iterator["Followers"]:
    """Call ``begin`` of all callbacks, and ``break_off`` if the run does not finish.

    ``tell`` gets a sentence about each optional callback that fails.
    """
    followers = Followers(beginning, tell)
    try:
        followers.begin(callbacks)
        yield followers
    except BaseException as error:
        followers.break_off(error)
        raise


@dataclass(eq=False)
class Followers:
    """The callbacks that still follow a run."""

    beginning: Beginning
    tell: Tell
    members: list[Callback] = field(default_factory=list)

    def begin(self, callbacks: Iterable[Callback]) -> None:
        """Call ``begin`` of all callbacks."""
        for each in callbacks:
            self.members.append(each)
            with self._unless_optional(each, SettingsError):
                each.begin(self.beginning)

    def rounds(self, rounds: Iterator[Round]) -> Iterator[Round]:
        """Yield the rounds, each after ``round`` of all callbacks."""
        for done in rounds:
            for each in tuple(self.members):
                with self._unless_optional(each):
                    each.round(done)
            yield done

    def end(self, run: Run) -> None:
        """Call ``end`` of all callbacks."""
        for each in tuple(self.members):
            with self._unless_optional(each):
                each.end(run)
            self._leave(each)

    def break_off(self, error: BaseException) -> None:
        """Call ``break_off`` of all callbacks."""
        for each in self.members:
            with suppress(Exception):  # the first error is the one to report
                each.break_off(error)

    @contextmanager
    def _unless_optional(self, each: Callback, *refusals: type[Exception]) -> Iterator[None]:
        """Ignore what an optional callback raises, except refusals."""
        try:
            yield
        except refusals:
            raise
        except Exception as error:
            if not getattr(each, "optional", False):  # it may not inherit from Callback
                raise
            self._leave(each)
            self.tell(self._without(each, error))
            with suppress(Exception):
                each.break_off(error)

    def _leave(self, each: Callback) -> None:
        self.members = [other for other in self.members if other is not each]

    def _without(self, each: Callback, error: Exception) -> str:
        folder = self.beginning.folder
        run = "This run" if folder is None else f"The run in '{folder}'"
        return f"{run} continues without {type(each).__name__}, which failed: {_why(error)}."


def _why(error: Exception) -> str:
    if isinstance(error, DiskError) and error.path is not None:
        return f"'{error.path}' cannot be written ({error.reason})"
    return str(error).rstrip(".") if isinstance(error, FlexcflError) else error_summary(error)
