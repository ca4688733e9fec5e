"""Who accompanies a run: told when it begins, of every round, and how it ends."""

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

__all__ = [
    "Beginning",
    "Callback",
    "Followers",
    "Tell",
    "View",
    "callback_list",
    "following",
    "remark",
]

View: TypeAlias = Callable[[Iterator[Round]], Iterator[Round]]
Tell: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Beginning:
    """What begins: the experiment, and the folder of the run, None where nothing is written.

    Where a run goes on, ``rounds`` and ``groups`` are the figures of the rounds that need not be
    done again, as ``rounds.csv`` and ``groups.csv`` have them.
    """

    experiment: Experiment
    folder: Path | None = None
    rounds: Sequence[RoundFigures] = ()
    groups: Sequence[GroupFigures] = ()

    @property
    def before(self) -> int:
        """How many rounds were done before."""
        return len(self.rounds)


class Callback(Protocol):
    """Accompanies a run: ``flexcfl.run(..., callbacks=[...])``.

    Whoever inherits from it need only say what it does where it does anything. A run is the same,
    byte for byte, with callbacks or without. As long as there is no first round nothing may be in
    the folder of a run but what the run puts there.

    An exception raised by a callback ends the run. An ``optional`` callback, such as those of
    ``flexcfl.runner.tracking``, is instead reported once on stderr and not called again. A
    ``SettingsError`` raised by ``begin`` always refuses the run.
    """

    optional: ClassVar[bool] = False

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

        It may even be what this callback has raised itself, after which it hears no more.
        """
        return


def callback_list(callbacks: object) -> list[Callback]:
    """Return callbacks as a list, and refuse what is none."""
    given: list[Any] = list(callbacks) if isinstance(callbacks, Iterable) else [None]
    needed = ("begin", "round", "end", "break_off")
    for each in given:
        # A class in the place of an object would have all of them, too.
        if isinstance(each, type) or not all(hasattr(each, name) for name in needed):
            raise SettingsError(
                "callbacks must be a list of objects such as "
                f"[flexcfl.runner.tracking.TensorBoard()], not {callbacks!r:.60}."
            )
    return given


def remark(sentence: str) -> None:
    """Tell a person something, also where nothing else is to be shown; a bar makes room for it."""
    lines.tell(sentence, Console(stderr=True))


@contextmanager
def following(
    callbacks: Iterable[Callback], beginning: Beginning, tell: Tell = remark
) -> Iterator["Followers"]:
    """Tell callbacks that a run begins, and that it was broken off if it does not come to its end.

    ``tell`` is told of those that fail where the run goes on without them.
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
        """Tell all callbacks that the run begins."""
        for each in callbacks:
            self.members.append(each)
            with self._unless_optional(each, SettingsError):
                each.begin(self.beginning)

    def rounds(self, rounds: Iterator[Round]) -> Iterator[Round]:
        """Hand on the rounds, each once all callbacks have heard of it."""
        for done in rounds:
            for each in tuple(self.members):
                with self._unless_optional(each):
                    each.round(done)
            yield done

    def end(self, run: Run) -> None:
        """Tell all callbacks that the run is finished."""
        for each in tuple(self.members):
            with self._unless_optional(each):
                each.end(run)
            self._leave(each)

    def break_off(self, error: BaseException) -> None:
        """Tell all callbacks that the run did not come to its end."""
        for each in self.members:
            with suppress(Exception):  # it is the first trouble that is told
                each.break_off(error)

    @contextmanager
    def _unless_optional(self, each: Callback, *refusals: type[Exception]) -> Iterator[None]:
        """Spare a run what an optional callback raises, but for refusals."""
        try:
            yield
        except refusals:
            raise
        except Exception as error:
            if not getattr(each, "optional", False):  # which need not inherit from Callback
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
        return f"{run} goes on without {type(each).__name__}, which has failed: {_why(error)}."


def _why(error: Exception) -> str:
    if isinstance(error, DiskError) and error.path is not None:
        return f"'{error.path}' cannot be written ({error.reason})"
    return str(error).rstrip(".") if isinstance(error, FlexcflError) else error_summary(error)
