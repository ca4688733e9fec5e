"""Custom algorithms, models and more, found by name in installed packages and in files.

An installed package registers its objects as entry points of the group ``flexcfl.algorithms``,
``flexcfl.detectors`` and so on; anything that can be imported is named ``package.module:name``.
Nothing is imported before it is named.
"""

import dataclasses
import pkgutil
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import cleandoc
from pathlib import Path
from typing import Any, TypeVar

from flexcfl.errors import FlexcflError, SettingsError

__all__ = [
    *("RAISED", "Registry", "installed_entry_points", "importable_from_here", "import_object"),
    *("error_summary", "is_import_path", "summary_of", "entry_maker"),
]

EntryT = TypeVar("EntryT")
RAISED = (Exception, SystemExit)
"""What user code may raise; ``SystemExit`` would end the command without a message."""
_LONGEST = 200
# Files of Python, of installed packages and of flexcfl, which do not contain the user's mistake.
_INSTALLED = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
_NOT_THE_USERS = ("<", str(Path(__file__).parent), *_INSTALLED)


@dataclasses.dataclass(frozen=True, eq=False)
class Registry(Mapping[str, EntryT]):
    """Entries of one kind by name, such as algorithms.

    ``ours`` are the entries that come with flexcfl. Iteration yields their names, then those of
    installed packages. ``make_entry(object)`` makes an entry of an object from a user's package or
    module, or raises a ``TypeError`` that says what the object should be.
    """

    noun: str
    ours: Mapping[str, EntryT]
    make_entry: Callable[[Any], EntryT]

    def __getitem__(self, name: str) -> EntryT:
        if name in self.ours:
            return self.ours[name]
        if is_import_path(name):
            return self._entry(name, import_object(name, self.noun))
        return self._entry(name, load_entry_point(self._installed()[name], self.noun))

    def __iter__(self) -> Iterator[str]:
        yield from self.ours
        yield from sorted(self._installed().keys() - self.ours.keys())

    def __len__(self) -> int:
        return len(self.ours.keys() | self._installed().keys())

    def _installed(self) -> Mapping[str, EntryPoint]:
        return installed_entry_points(f"flexcfl.{self.noun}s")

    def _entry(self, name: str, found: object) -> EntryT:
        try:
            return self.make_entry(found)
        except TypeError as error:
            raise SettingsError(f"The {self.noun} '{name}' {error}") from None


def entry_maker(kind: type[EntryT], example: str, *needed: str) -> Callable[[object], EntryT]:
    """Return a function that makes an entry ``kind(summary, class)`` of a custom class.

    The class must be a dataclass, whose fields are its options, and have the ``needed`` attributes.
    The error for anything else names ``example``, a class of flexcfl.
    """

    def make_entry(found: object) -> EntryT:
        if isinstance(found, kind):
            return found
        lacking = [each for each in needed if not hasattr(found, each)]
        if not isinstance(found, type) or lacking:
            has = " and ".join(needed)
            raise TypeError(f"must be a class with {has}, such as {example}, not {found!r:.60}.")
        if not dataclasses.is_dataclass(found):
            raise TypeError(
                "must be a dataclass, whose fields are its options: put @dataclass(frozen=True) "
                f"above {found.__name__}."
            )
        make: Any = kind
        entry: EntryT = make(summary_of(found), found)
        return entry

    return make_entry


def summary_of(thing: object) -> str:
    """Return the first line of an object's docstring, without the full stop."""
    first, *_ = [*cleandoc(getattr(thing, "__doc__", None) or "").splitlines(), ""]
    return first.rstrip(".") or "it does not say what it is"


def is_import_path(name: str) -> bool:
    """Return whether a name is an import path: ``package.module:name``."""
    return ":" in name


def import_object(name: str, noun: str, refusal: type[FlexcflError] = SettingsError) -> object:
    """Import ``package.module:name``, also from files of the current folder."""
    module, _, attribute = name.partition(":")
    if not module:
        raise refusal(
            f"The {noun} '{name}' names no module before its colon: "
            "write package.module:name, without the .py of a file."
        )
    with importable_from_here():
        try:
            pkgutil.resolve_name(f"{module}:")
        except RAISED as error:
            raise refusal(
                f"The {noun} '{name}' could not be imported ({error_summary(error)}): fix "
                f"'{module}', install it, or start in its folder (this one is '{Path.cwd()}')."
            ) from error
        try:
            return pkgutil.resolve_name(name)
        except (AttributeError, ValueError) as error:
            raise refusal(
                f"There is no '{attribute}' in '{module}': correct the {noun} '{name}'."
            ) from error


@contextmanager
def importable_from_here() -> Iterator[None]:
    """Make files in the current folder importable, as ``python`` itself does."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        with suppress(ValueError):  # the module may have removed it
            sys.path.remove(here)


@cache
def installed_entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of one group, by name."""
    return {each.name: each for each in entry_points(group=group)}


def load_entry_point(point: EntryPoint, noun: str) -> object:
    """Import the object of an entry point."""
    try:
        return point.load()
    except RAISED as error:
        package = point.dist.name if point.dist else point.value
        raise SettingsError(
            f"The {noun} '{point.name}' of the package '{package}' could not be imported "
            f"({error_summary(error)}): fix or uninstall the package."
        ) from error


def error_summary(error: BaseException) -> str:
    """Return the type of an exception, its place in the user's files, and its first line."""
    first = next(iter(str(error).strip().splitlines()), "").rstrip(".")
    message = first if len(first) <= _LONGEST else f"{first[:_LONGEST]}..."
    kind = type(error).__name__ + _user_line(error)
    return f"{kind}: {message}" if message else kind


def _user_line(error: BaseException) -> str:
    """Return the innermost line of the traceback that is in the user's files."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(_NOT_THE_USERS):
            return f" at {frame.filename}:{frame.lineno}"
    return ""
