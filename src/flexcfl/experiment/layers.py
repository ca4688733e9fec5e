"""From defaults, file, options and ``--set`` to one experiment; the later layer wins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS
from flexcfl.errors import SettingsError, nearest, unknown
from flexcfl.experiment.arrivals import SETTING
from flexcfl.experiment.experiment import Experiment, RunSettings, Tables
from flexcfl.experiment.named import NAMED
from flexcfl.experiment.network import Network
from flexcfl.experiment.options import OPTIONS
from flexcfl.experiment.superseded import Flat, superseded
from flexcfl.protocol import Local
from flexcfl.shifts import SHIFTS
from flexcfl.trust.faults import Faults
from flexcfl.trust.guards import Guards
from flexcfl.trust.privacy import Privacy

__all__ = [
    "Given",
    "Layer",
    "assigned",
    "dotted",
    "flat",
    "homes",
    "keyword_homes",
    "merged",
    "spellings",
    "spoken",
]

SHORT = ("shift", *NAMED)  # tables whose name alone may stand for them: shift = "swap-all"
TABLES = tuple(item.name for item in fields(Experiment))


@dataclass(frozen=True)
class Layer:
    """Settings from one source, such as a file."""

    source: str
    tables: Mapping[str, Any]


@dataclass(frozen=True)
class Given:
    """All settings that were given, and by ``table.key`` the source that had the last word."""

    tables: Tables
    sources: Mapping[str, str]


def spoken(options: Mapping[str, object], assignments: Mapping[str, object]) -> Layer:
    """Return what somebody asks for by options such as ``rate=0.1`` and by ``local.rate=0.1``.

    An assignment overrides an option, and options that are None were not given. Both make one
    layer, because they are said in one breath: neither sets the other aside.
    """
    known = {name: value for name, value in options.items() if value is not None}
    given = dotted(
        {OPTIONS[name].setting if name in OPTIONS else name: known[name] for name in known}
    )
    said = dotted(assignments)
    return Layer(
        "given", {table: given.get(table, {}) | said.get(table, {}) for table in given | said}
    )


def assigned(settings: Mapping[str, object] | None) -> Mapping[str, object]:
    """Return the assignments that somebody gives in Python."""
    if settings is not None and not isinstance(settings, Mapping):
        raise SettingsError(
            f"set must be a mapping such as {{'local.prox': 0.1}}, not {settings!r:.60}."
        )
    return settings or {}


def dotted(assignments: Mapping[str, object]) -> Tables:
    """Return the tables of assignments: ``{"local.rate": 0.1}`` or ``{"local": {"rate": 0.1}}``."""
    tables: Tables = {}
    for name, value in assignments.items():
        table, keys = _placed(name, value)
        there = tables.setdefault(table, {})
        for key in there.keys() & keys.keys():
            raise SettingsError(f"'{table}.{key}' is set twice: set it once.")
        there.update(keys)
    return tables


def _placed(name: str, value: object) -> tuple[str, Mapping[str, object]]:
    """Return the table of an assignment, and what it sets there."""
    table, dot, key = name.partition(".")
    if isinstance(value, Mapping) and not dot:
        return table, value
    if table in SHORT and not dot:
        return table, {"name": value}
    if not (table and dot and key):
        raise SettingsError(
            f"'{name}' does not say which table it belongs to: "
            f"name both with a dot between, such as {_home(name)}."
        )
    return table, {key: value}


def _home(key: str) -> str:
    """Return where a setting belongs, or may belong, or else an example of where one does."""
    known = homes() | {name: [option.setting] for name, option in OPTIONS.items()}
    return " or ".join(known.get(nearest(key, known) or "", ["local.rate"]))


def homes() -> dict[str, list[str]]:
    """Return by its name alone where each setting may be, such as ``local.rate`` for ``rate``."""
    found: dict[str, list[str]] = {}
    for name in spellings():
        found.setdefault(name.partition(".")[2], []).append(name)
    del found["name"]
    return found


def keyword_homes() -> dict[str, str]:
    """Return by the name of each setting how Python says it beside what has a keyword."""
    return {
        key: " or ".join(f"set={{'{name}': ...}}" for name in names)
        for key, names in homes().items()
    }


def spellings() -> list[str]:
    """Return the name of every setting that there can be, such as ``local.rate``."""
    homes: list[tuple[str, Any]] = [("local", Local), ("run", RunSettings)]
    homes += [("data", dataset.options) for dataset in DATASETS.ours.values()]
    homes += [("algorithm", entry.options) for entry in ALGORITHMS.ours.values()]
    homes += [("shift", entry.shift) for entry in SHIFTS.ours.values()]
    homes += [(table, each) for table, kind in NAMED.items() for each in kind.ours]
    homes += [("guards", Guards), ("faults", Faults), ("privacy", Privacy)]
    homes += [("network", Network)]
    own = [f"{table}.{each.name}" for table, kind in homes for each in fields(kind)]
    return list(
        dict.fromkeys([f"data.{SETTING}", *own, *(each.setting for each in OPTIONS.values())])
    )


def merged(layers: Iterable[Layer]) -> Given:
    """Return what the layers say together."""
    values: Flat = {}
    sources: dict[str, str] = {}
    for layer in layers:
        above = flat(layer.tables)
        gone = superseded(values, above)
        values = {name: value for name, value in values.items() if name not in gone} | above
        sources |= dict.fromkeys(above, layer.source)
    tables: Tables = {table: {} for table in TABLES} | dotted(values)
    return Given(tables, {name: sources[name] for name in values})


def flat(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of tables by ``table.key``, or raise a ``SettingsError``."""
    values: dict[str, Any] = {}
    for table, keys in tables.items():
        if table in SHORT and not isinstance(keys, Mapping):
            values[f"{table}.name"] = keys
            continue
        if not isinstance(keys, Mapping):
            raise SettingsError(
                f"'{table}' stands outside a table: "
                f"put it into the one it belongs to, such as {_home(table)}."
            )
        if table not in TABLES:
            raise SettingsError(unknown("table", table, TABLES))
        values.update({f"{table}.{key}": value for key, value in keys.items()})
    return values
