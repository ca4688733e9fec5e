"""Entries of one kind by name: ours, those of installed packages, and a person's own."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from inspect import cleandoc
from typing import Any, TypeVar

from flexcfl.errors import SettingsError
from flexcfl.extensions.importing import announced, imported, is_path, loaded

__all__ = ["Registry", "summary_of", "understood_as"]

EntryT = TypeVar("EntryT")


@dataclasses.dataclass(frozen=True, eq=False)
class Registry(Mapping[str, EntryT]):
    """Entries of one kind by name, such as algorithms.

    ``ours`` come with flexcfl, and are what ``for`` goes through, with those of installed packages.
    ``understand(object)`` makes an entry of what a package or a module of others has under a name,
    or raises a ``TypeError`` that says what it should have been.
    """

    noun: str
    ours: Mapping[str, EntryT]
    understand: Callable[[Any], EntryT]

    def __getitem__(self, name: str) -> EntryT:
        if name in self.ours:
            return self.ours[name]
        if is_path(name):
            return self._understood(name, imported(name, self.noun))
        return self._understood(name, loaded(self._installed()[name], self.noun))

    def __iter__(self) -> Iterator[str]:
        yield from self.ours
        yield from sorted(self._installed().keys() - self.ours.keys())

    def __len__(self) -> int:
        return len(self.ours.keys() | self._installed().keys())

    def _installed(self) -> Mapping[str, EntryPoint]:
        return announced(f"flexcfl.{self.noun}s")

    def _understood(self, name: str, found: object) -> EntryT:
        try:
            return self.understand(found)
        except TypeError as error:
            raise SettingsError(f"The {self.noun} '{name}' {error}") from None


def understood_as(kind: type[EntryT], example: str, *needed: str) -> Callable[[object], EntryT]:
    """Return what makes an entry ``kind(summary, class)`` of a person's own class.

    The class is a dataclass, whose fields are its options, and has what is ``needed``. ``example``
    is one of ours, for the sentence on anything else.
    """

    def understand(found: object) -> EntryT:
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

    return understand


def summary_of(thing: object) -> str:
    """Return the first line of what a thing says of itself, as a phrase."""
    first, *_ = [*cleandoc(getattr(thing, "__doc__", None) or "").splitlines(), ""]
    return first.rstrip(".") or "it does not say what it is"
