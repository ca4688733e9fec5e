"""The reference of all settings in Markdown, built from the registries and their classes.

``flexcfl settings`` prints it, and docs/settings.md shows it.
"""

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from flexcfl.aggregation import RULES
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS, PARTITIONS
from flexcfl.experiment.arrivals import Arrival
from flexcfl.experiment.experiment import PLAIN
from flexcfl.shifts import SHIFTS
from flexcfl.shifts.detection import DETECTORS
from flexcfl.trust.faults import ATTACKS

ENOUGH = 10**6  # larger upper bounds only reject absurd values, and are not shown
WORDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "object": "table",
}
# The tables whose ``name`` chooses an entry of a registry. Each has the registry, and the fields of
# an entry that hold its option class and its summary.
NAMED: Mapping[str, tuple[Mapping[str, Any], str, str]] = {
    "data": (DATASETS.ours, "options", "what"),
    "algorithm": (ALGORITHMS.ours, "options", "summary"),
    "shift": (SHIFTS.ours, "shift", "summary"),
    "drift": (DETECTORS.ours, "detector", "summary"),
    "aggregation": (RULES.ours, "rule", "summary"),
    "attack": (ATTACKS.ours, "attack", "summary"),
}
TABLES = (*NAMED, *PLAIN)
"""The tables of an experiment."""


@dataclass(frozen=True)
class Heading:
    """A heading within a table of settings."""

    text: str


@dataclass(frozen=True)
class Grid:
    """A table with a head and rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


Block: TypeAlias = Heading | Grid | str
"""A part of the reference; a string is one or more paragraphs."""


def settings_of(table: str) -> Iterator[Block]:
    """Yield the settings of a table, and the choices for its ``name``."""
    if table in PLAIN:
        yield from _settings(PLAIN[table])
    else:
        yield from _choices(table, *NAMED[table])


def _choices(table: str, registry: Mapping[str, Any], kind: str, summary: str) -> Iterator[Block]:
    """Yield the choices for a table's ``name``, and the options of each."""
    rows = [[f"`{name}`", getattr(entry, summary)] for name, entry in registry.items()]
    yield Grid(["`name`", ""], rows)
    if table == "data":
        yield Heading("[data] arrivals")
        yield f"A list of tables, for any data set. {_prose(Arrival)}"
        yield _table_of(Arrival)
        yield Heading("[data] partition")
        yield "For data sets that are pools of labelled examples."
        rows = [[f"`{name}`", entry.summary] for name, entry in PARTITIONS.ours.items()]
        yield Grid(["`partition`", ""], rows)
    explained: set[type] = set()
    for type_ in dict.fromkeys(getattr(entry, kind) for entry in registry.values()):
        names = [name for name, entry in registry.items() if getattr(entry, kind) is type_]
        if fields(type_):
            yield Heading(f"[{table}] name = {', '.join(names)}")
            yield from _settings(type_, explained)


def _settings(type_: type[Any], explained: set[type] | None = None) -> Iterator[Block]:
    """Yield a table of settings, and the docstrings of their classes that are not ``explained``."""
    explained = set() if explained is None else explained
    yield _table_of(type_)
    yield from _partitions(getattr(type_, "defaults", {}))
    for each in type_.__mro__[:-1]:
        if each not in explained and each.__module__.startswith("flexcfl."):
            explained.add(each)
            yield _prose(each)


def _partitions(takes: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for partition, own in takes.items():
        if own:
            given = ", ".join(f"`{name}` {value:g}" for name, value in own.items())
            yield f'With `partition = "{partition}"`: {given}.'


def _table_of(type_: type[Any]) -> Grid:
    schema = TypeAdapter(type_).json_schema()
    divided = {name for own in getattr(type_, "defaults", {}).values() for name in own}
    rows = [
        [f"`{name}`", _values(each, schema), "below" if name in divided else _default(each)]
        for name, each in schema["properties"].items()
    ]
    return Grid(["setting", "values", "default"], rows)


def _values(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """Describe in words the values that a JSON schema allows."""
    if "anyOf" in schema:
        kinds = [each for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(_values(each, whole) for each in kinds)
    if "$ref" in schema:
        within = whole["$defs"][schema["$ref"].rpartition("/")[2]]["properties"]
        return "table of " + ", ".join(f"`{name}`" for name in within)
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list, each a {_values(schema['items'], whole)}"
    if schema.get("format") == "path":
        return "path"
    return " ".join(filter(None, [WORDS[schema["type"]], *_bounds(schema)]))


def _bounds(schema: Mapping[str, Any]) -> Iterator[str]:
    opening = {"minimum": "from", "exclusiveMinimum": "above"}
    closing = {"maximum": "to", "exclusiveMaximum": "below"}
    for key, word in {**opening, **closing}.items():
        if key in schema and not (key in closing and schema[key] >= ENOUGH):
            yield f"{word} {_number(schema[key])}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def _default(schema: Mapping[str, Any]) -> str:
    if "default" not in schema:
        return "must be given"
    if schema["default"] is None:
        return "not set"
    return f"`{json.dumps(schema['default'])}`".replace('": ', '" = ')  # as in TOML


def _prose(type_: type[Any]) -> str:
    """Return the docstring of a class in Markdown."""
    paragraphs = inspect.cleandoc(type_.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    return text.replace(":math:", "").replace("``", "`")
