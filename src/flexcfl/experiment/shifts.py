"""The table ``[shift]``: how clients' data change.

``[shift] name = ["swap-part", "incremental"]`` names shifts that act together, and has their
options beside the names.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from flexcfl.errors import SettingsError, nearest, unknown
from flexcfl.settings import validated
from flexcfl.shifts import SHIFTS, Shift

__all__ = ["NONE", "names", "shift_options", "shifts"]

NONE = "none"  # what says that nothing moves where a dataset would bring a shift


def names(value: object) -> tuple[str, ...]:
    """Return the names that a file, ``--shift`` or Python gives, one or several.

    >>> names("swap-all"), names(["swap-part", "incremental"]), names("none"), names([])
    (('swap-all',), ('swap-part', 'incremental'), (), ())
    >>> names("swap-part, incremental")
    ('swap-part', 'incremental')
    """
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(each, str) for each in listed):
        raise SettingsError(
            f"[shift] name must be a text or a list of them, such as swap-all, not {value!r:.60}."
        )
    chosen = tuple(name.strip() for each in listed for name in each.split(","))
    if NONE in chosen and len(chosen) > 1:
        raise SettingsError(f"'{NONE}' stands alone: leave it out, or the other shifts.")
    if len(set(chosen)) < len(chosen):
        twice = next(each for each in chosen if chosen.count(each) > 1)
        raise SettingsError(f"The shift '{twice}' is named twice: leave one of them out.")
    return () if chosen == (NONE,) else chosen


def shift_options(chosen: Iterable[str]) -> set[str]:
    """Return the names of the options that shifts have, those that there are."""
    found: set[str] = set()
    for name in chosen:
        with suppress(SettingsError):  # which is told when the shift is to be used
            found |= _fields(SHIFTS[name].shift) if name in SHIFTS else set()
    return found


def _fields(kind: type[Any]) -> set[str]:
    return {option.name for option in fields(kind)}


def shifts(table: Mapping[str, Any]) -> dict[str, Shift]:
    """Return the shifts that a table asks for, in the order in which they act."""
    chosen = names(table.get("name", ()))
    for name in chosen:
        if name not in SHIFTS:
            raise SettingsError(unknown("shift", name, [*SHIFTS, NONE]))
    keys = {key: value for key, value in table.items() if key != "name"}
    _check_known(keys, chosen)
    return {name: _own(name, keys) for name in chosen}


def _own(name: str, keys: Mapping[str, Any]) -> Shift:
    shift = SHIFTS[name].shift
    own = _fields(shift)
    return validated(shift, {key: value for key, value in keys.items() if key in own}, "[shift]")


def _check_known(keys: Iterable[str], chosen: tuple[str, ...]) -> None:
    has = sorted(shift_options(chosen))
    for key in keys:
        if key in has:
            continue
        if not chosen:
            raise SettingsError(
                f"[shift] {key} is set, but no shift is chosen: name one, such as --shift swap-all."
            )
        near = nearest(key, has)
        hint = f"did you mean '{near}'?" if near else f"it has {', '.join(has)}."
        raise SettingsError(f"[shift] has no setting '{key}' with {' and '.join(chosen)}: {hint}")
