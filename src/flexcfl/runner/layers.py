"""From defaults, file, options and ``--set`` to one experiment; the later layer wins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from flexcfl.errors import SettingsError, unknown
from flexcfl.protocol import Local
from flexcfl.runner.experiment import Experiment, Schedule, Tables

__all__ = ["Given", "Layer", "dotted", "merged", "options"]

TABLES = tuple(item.name for item in fields(Experiment))
OPTIONS = {
    "algorithm": "algorithm.name",
    "groups": "algorithm.groups",
    "dataset": "data.name",
    "model": "model.name",
    "rounds": "run.rounds",
    "cohort": "run.cohort",
    "seed": "run.seed",
    "device": "run.device",
    "data": "run.data",
    "epochs": "local.epochs",
    "batch": "local.batch",
    "rate": "local.rate",
}


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


def options(given: Mapping[str, object]) -> Tables:
    """Return the tables of options such as ``rate=0.1``; those that are None were not given."""
    return dotted({OPTIONS[name]: value for name, value in given.items() if value is not None})


def dotted(assignments: Mapping[str, object]) -> Tables:
    """Return the tables of assignments such as ``{"local.rate": 0.1}``."""
    tables: Tables = {}
    for name, value in assignments.items():
        table, dot, key = name.partition(".")
        if not (table and dot and key):
            raise SettingsError(
                f"'{name}' does not say which table it belongs to: "
                f"name both with a dot between, such as {_home(name)}."
            )
        tables.setdefault(table, {})[key] = value
    return tables


def _home(key: str) -> str:
    """Return where a setting belongs, or else an example of where one does."""
    homes: dict[str, type] = {"local": Local, "run": Schedule}
    found = [table for table, type_ in homes.items() if key in {f.name for f in fields(type_)}]
    return f"{found[0]}.{key}" if found else "local.rate"


def merged(layers: Iterable[Layer]) -> Given:
    """Return what the layers say together."""
    settings: dict[str, tuple[object, str]] = {}
    for layer in layers:
        flat = _flat(layer)
        settings = _kept(settings, flat) | flat
    tables: Tables = {table: {} for table in TABLES}
    for name, (value, _) in settings.items():
        table, _, key = name.partition(".")
        tables[table][key] = value
    return Given(tables, {name: source for name, (_, source) in settings.items()})


def _flat(layer: Layer) -> dict[str, tuple[object, str]]:
    flat = {}
    for table, keys in layer.tables.items():
        if not isinstance(keys, Mapping):
            raise SettingsError(
                f"'{table}' stands outside a table: "
                f"put it into the one it belongs to, such as {_home(table)}."
            )
        if table not in TABLES:
            raise SettingsError(unknown("table", table, TABLES))
        flat.update({f"{table}.{key}": (value, layer.source) for key, value in keys.items()})
    return flat


def _kept(
    below: Mapping[str, tuple[object, str]], above: Mapping[str, tuple[object, str]]
) -> dict[str, tuple[object, str]]:
    """Leave out what was said below for something that another takes the place of above."""
    replaced = set()
    for table in ("data", "algorithm"):
        name = f"{table}.name"
        if name in above and name in below and above[name][0] != below[name][0]:
            replaced |= {key for key in below if key.startswith(f"{table}.")}
            # A file written for FedAvg says prox = 0, which must not switch FedProx off.
            replaced |= {"local.prox"} if table == "algorithm" else set()
    if "local.epochs" in above:
        replaced.add("local.steps")
    return {key: value for key, value in below.items() if key not in replaced}
