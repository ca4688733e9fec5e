"""The reference of all settings, docs/settings.md, out of the registries and their classes."""

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter

from flexcfl.aggregation import RULES
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS, PARTITIONS
from flexcfl.experiment.arrivals import Arrival
from flexcfl.experiment.defaults import Defaults, defaults
from flexcfl.experiment.experiment import PLAIN
from flexcfl.shifts import SHIFTS
from flexcfl.shifts.detection import DETECTORS
from flexcfl.trust.faults import ATTACKS

__all__ = ["page"]

OPENING = """# Settings

This page is made from the code by `python -m tools.reference`. Settings are given in a file, as
every run leaves one (`flexcfl run experiment.toml`), on the command line (`--set local.rate=0.05`),
or from Python (`set={"local.rate": 0.05}`). What is not given comes from the data set, and else has
the default below. A name that does not exist, and a value out of range, are refused. Where a table
has a `name`, it may be [one of your own](extend.md).
"""
BROUGHT = """## What a data set brings

`prox`, `groups` and `alpha` are for the algorithms that use them; `-` is the algorithm's own
default.
"""
ENOUGH = 10**6  # a bound from here on only keeps nonsense out
WORDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "object": "table",
}
# What a table of names is called, and which field of a registry's entry holds the class of options.
KINDS: tuple[tuple[str, Mapping[str, Any], str, str], ...] = (
    ("data", DATASETS.ours, "options", "what"),
    ("algorithm", ALGORITHMS.ours, "options", "summary"),
    ("shift", SHIFTS.ours, "shift", "summary"),
    ("drift", DETECTORS.ours, "detector", "summary"),
    ("aggregation", RULES.ours, "rule", "summary"),
    ("attack", ATTACKS.ours, "attack", "summary"),
)


def page() -> str:
    """Return the page: what data sets bring, then every table with its settings."""
    named = {kind[0]: "\n".join(_choices(*kind)) for kind in KINDS}
    plain = {table: "\n".join(_settings(type_)) for table, type_ in PLAIN.items()}
    tables = [f"## [{name}]\n\n{text}" for name, text in {**named, **plain}.items()]
    return "\n".join([OPENING, BROUGHT, _brought(), *tables])


def _brought() -> str:
    names = [item.name for item in fields(Defaults)]
    rows = [[f"`{name}`", *(_brings(name, each) for each in names)] for name in DATASETS.ours]
    return _table(["data set", *(f"`{name}`" for name in names)], rows)


def _brings(dataset: str, name: str) -> str:
    """Return what a data set brings, asked of the algorithms that take it."""
    brought = [defaults(dataset, entry) for entry in ALGORITHMS.ours.values()]
    if name in ("model", "shift"):
        value = brought[0][f"{name}.name"]
        return f"`{' '.join(value) if isinstance(value, list) else value}`" if value else "none"
    places = [f"{table}.{name}" for table in ("algorithm", "local", "run")]
    found = [each[place] for each in brought for place in places if each.get(place)]
    return f"{found[0]:g}" if found else "-" if getattr(Defaults(), name) is None else "0"


def _choices(table: str, registry: Mapping[str, Any], kind: str, summary: str) -> Iterator[str]:
    """Yield what a table's ``name`` may be, and the options of each name."""
    rows = [[f"`{name}`", getattr(entry, summary)] for name, entry in registry.items()]
    yield _table(["`name`", ""], rows)
    if table == "data":
        yield f"`arrivals` is a list of tables, for any data set. {_prose(Arrival)}"
        yield _table_of(Arrival)
        yield "`partition` is for data sets that are pools of labelled examples.\n"
        rows = [[f"`{name}`", entry.summary] for name, entry in PARTITIONS.ours.items()]
        yield _table(["`partition`", ""], rows)
    told: set[type] = set()
    for type_ in dict.fromkeys(getattr(entry, kind) for entry in registry.values()):
        names = [name for name, entry in registry.items() if getattr(entry, kind) is type_]
        if fields(type_):
            yield f"### [{table}] name = {', '.join(names)}\n"
            yield from _settings(type_, told)


def _settings(type_: type[Any], told: set[type] | None = None) -> Iterator[str]:
    """Yield a table of settings, and what their classes say of them, unless they have done so."""
    told = set() if told is None else told
    yield _table_of(type_)
    yield from _partitions(getattr(type_, "defaults", {}))
    for each in type_.__mro__[:-1]:
        if each not in told and each.__module__.startswith("flexcfl."):
            told.add(each)
            yield _prose(each)


def _partitions(takes: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for partition, own in takes.items():
        if own:
            given = ", ".join(f"`{name}` {value:g}" for name, value in own.items())
            yield f'With `partition = "{partition}"`: {given}.\n'


def _table_of(type_: type[Any]) -> str:
    schema = TypeAdapter(type_).json_schema()
    divided = {name for own in getattr(type_, "defaults", {}).values() for name in own}
    rows = [
        [f"`{name}`", _values(each, schema), "below" if name in divided else _default(each)]
        for name, each in schema["properties"].items()
    ]
    return _table(["setting", "values", "default"], rows)


def _values(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """Return in words what a JSON schema allows."""
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
    return f"`{json.dumps(schema['default'])}`".replace('": ', '" = ')  # as TOML has it


def _prose(type_: type[Any]) -> str:
    """Return what a class says of itself, in Markdown."""
    paragraphs = inspect.cleandoc(type_.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    return text.replace(":math:", "").replace("``", "`") + "\n"


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
