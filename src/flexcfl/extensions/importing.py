"""Code of others: named ``package.module:name``, or announced by an installed package."""

import pkgutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from flexcfl.errors import FlexcflError, SettingsError
from flexcfl.extensions.wording import in_short

__all__ = ["RAISED", "announced", "importable_from_here", "imported", "is_path", "loaded"]

RAISED = (Exception, SystemExit)
"""Whatever a person's own code raises; SystemExit would end the command without a word."""


def is_path(name: str) -> bool:
    """Tell whether a name says where code is to be imported from."""
    return ":" in name


def imported(name: str, noun: str, refusal: type[FlexcflError] = SettingsError) -> object:
    """Import what ``package.module:name`` names; files of the current folder can be named, too."""
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
                f"The {noun} '{name}' could not be imported ({in_short(error)}): mend "
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
    """Let a person's files in the current folder be imported, as ``python`` itself would."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        with suppress(ValueError):  # the module may have removed it
            sys.path.remove(here)


@cache
def announced(group: str) -> Mapping[str, EntryPoint]:
    """Return what installed packages announce of one kind, by name."""
    return {each.name: each for each in entry_points(group=group)}


def loaded(point: EntryPoint, noun: str) -> object:
    """Import what an installed package announces."""
    try:
        return point.load()
    except RAISED as error:
        package = point.dist.name if point.dist else point.value
        raise SettingsError(
            f"The {noun} '{point.name}' of the package '{package}' could not be imported "
            f"({in_short(error)}): mend or uninstall the package."
        ) from error
