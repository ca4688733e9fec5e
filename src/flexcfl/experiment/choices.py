"""Tables that choose an entry by name and also hold the options of that entry.

``[drift] name = "label-share"`` chooses how clients notice drift, ``[aggregation]`` the rule that
combines updates into a step, and ``[attack]`` what hostile clients do. ``[shift]`` may name several
shifts, which act together: ``name = ["swap-part", "incremental"]``.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from flexcfl.aggregation import RULES
from flexcfl.algorithms import ALGORITHMS, NoOptions
from flexcfl.data import DATASETS
from flexcfl.errors import SettingsError, nearest, unknown
from flexcfl.experiment.arrivals import SETTING
from flexcfl.experiment.experiment import NO_ATTACK, PLAIN, NamedOptions
from flexcfl.experiment.options import OPTIONS
from flexcfl.extensions import Registry
from flexcfl.settings import validated
from flexcfl.shifts import SHIFTS, Shift
from flexcfl.shifts.detection import DETECTORS
from flexcfl.trust.faults import ATTACKS

NONE = "none"  # turns off the shift that a dataset has by default
RULE = "mean"


@dataclass(frozen=True)
class Kind:
    """The entries that a table can name; ``options(entry)`` is the class of an entry's options.

    ``nothing`` is the name that chooses no entry, if the table allows this.
    """

    registry: Registry[Any]
    options: Callable[[Any], type[Any]]
    default: str
    nothing: str | None = None

    @property
    def ours(self) -> Mapping[str, type[Any]]:
        """The option classes of the entries that come with flexcfl, by name."""
        return {name: self.options(entry) for name, entry in self.registry.ours.items()}

    def options_of(self, name: str) -> type[Any]:
        """Return the option class of the named entry, or raise a ``SettingsError``."""
        if name == self.nothing:
            return NoOptions
        if name not in self.registry:
            known = [*filter(None, [self.nothing]), *self.registry]
            raise SettingsError(unknown(self.registry.noun, name, known))
        return self.options(self.registry[name])


NAMED: Mapping[str, Kind] = MappingProxyType(
    {
        "drift": Kind(DETECTORS, lambda entry: entry.detector, "label-share"),
        "aggregation": Kind(RULES, lambda entry: entry.rule, RULE),
        "attack": Kind(ATTACKS, lambda entry: entry.attack, NO_ATTACK, nothing=NO_ATTACK),
    }
)
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "data": Kind(DATASETS, lambda entry: entry.options, "digits"),
        "algorithm": Kind(ALGORITHMS, lambda entry: entry.options, "flexcfl"),
        "shift": Kind(SHIFTS, lambda entry: entry.shift, NONE, nothing=NONE),
        **NAMED,
    }
)


def named_options(where: str, table: Mapping[str, Any]) -> NamedOptions:
    """Return the name in a table with its validated options, or raise a ``SettingsError``."""
    kind = NAMED[where]
    name = table.get("name", kind.default)
    if not isinstance(name, str):
        raise SettingsError(f"[{where}] name must be a text, not {name!r:.60}.")
    options = kind.options_of(name)
    keys = _without_name(table)
    if name == kind.nothing and keys:
        raise SettingsError(
            f"[{where}] {next(iter(keys))} is set, but no {kind.registry.noun} is chosen: name "
            f"one, such as --set {where}.name={next(iter(kind.registry))}."
        )
    return NamedOptions(name, validated(options, keys, f"[{where}]"))


def names(value: object) -> tuple[str, ...]:
    """Return the names of one or several shifts from a file, ``--shift`` or Python.

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
    several = tuple(name.strip() for each in listed for name in each.split(","))
    if NONE in several and len(several) > 1:
        raise SettingsError(f"'{NONE}' stands alone: leave it out, or the other shifts.")
    if len(set(several)) < len(several):
        twice = next(each for each in several if several.count(each) > 1)
        raise SettingsError(f"The shift '{twice}' is named twice: leave one of them out.")
    return () if several == (NONE,) else several


def shifts(table: Mapping[str, Any]) -> dict[str, Shift]:
    """Return the shifts that a table names, in the order in which they act.

    Each option applies to all of these shifts that have it.
    """
    several, keys = names(table.get("name", ())), _without_name(table)
    kinds = {name: KINDS["shift"].options_of(name) for name in several}
    _check_known(keys, several)
    found = {}
    for name, kind in kinds.items():
        own = _field_names(kind)
        its = {key: value for key, value in keys.items() if key in own}
        found[name] = validated(kind, its, "[shift]")
    return found


def _check_known(keys: Iterable[str], several: tuple[str, ...]) -> None:
    has = sorted(option_names("shift", several))
    for key in keys:
        if key in has:
            continue
        if not several:
            raise SettingsError(
                f"[shift] {key} is set, but no shift is chosen: name one, such as --shift swap-all."
            )
        near = nearest(key, has)
        hint = f"did you mean '{near}'?" if near else f"it has {', '.join(has)}."
        raise SettingsError(f"[shift] has no setting '{key}' with {' and '.join(several)}: {hint}")


def option_names(where: str, value: object) -> set[str]:
    """Return the option names of the entries that a table names, without unknown entries."""
    found: set[str] = set()
    for name in names(value) if where == "shift" else [str(value)]:
        with suppress(SettingsError):  # raised again when the entry is used
            found |= _field_names(KINDS[where].options_of(name))
    return found


def _field_names(kind: type[Any]) -> set[str]:
    return {option.name for option in fields(kind)}


def _without_name(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key != "name"}


def setting_names() -> list[str]:
    """Return the full name of every possible setting, such as ``local.rate``."""
    plain = [(table, kind) for table, kind in PLAIN.items() if table != "model"]
    ours = [(table, each) for table, kind in KINDS.items() for each in kind.ours.values()]
    own = [f"{table}.{each.name}" for table, kind in [*ours, *plain] for each in fields(kind)]
    return list(
        dict.fromkeys([f"data.{SETTING}", *own, *(each.setting for each in OPTIONS.values())])
    )


def keys_by_name() -> dict[str, list[str]]:
    """Return the full names for each short name of a setting: ``local.rate`` for ``rate``."""
    found: dict[str, list[str]] = {}
    for name in setting_names():
        found.setdefault(name.partition(".")[2], []).append(name)
    del found["name"]
    return found


def keyword_homes() -> dict[str, str]:
    """Return, for each short name, how to set it from Python if it is no keyword argument."""
    return {
        key: " or ".join(f"set={{'{name}': ...}}" for name in several)
        for key, several in keys_by_name().items()
    }
