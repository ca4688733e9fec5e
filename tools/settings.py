"""The page of all settings, docs/settings.md."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields

from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS
from flexcfl.experiment.defaults import Defaults, defaults
from flexcfl.experiment.reference import TABLES, Block, Grid, Heading, settings_of

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


def page() -> str:
    """Return the page: the defaults of datasets, then every table with its settings."""
    tables = [line for table in TABLES for line in (f"## [{table}]\n", *_lines(table))]
    return "\n".join([OPENING, BROUGHT, _brought(), *tables])


def _lines(table: str) -> Iterator[str]:
    for block in settings_of(table):
        yield _markdown(block)


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"### {block.text}\n"
    if isinstance(block, Grid):
        return _table(block.head, block.rows)
    return f"{block}\n"


def _brought() -> str:
    names = [item.name for item in fields(Defaults)]
    rows = [[f"`{name}`", *(_brings(name, each) for each in names)] for name in DATASETS.ours]
    return _table(["data set", *(f"`{name}`" for name in names)], rows)


def _brings(dataset: str, name: str) -> str:
    """Return the defaults of a dataset, from the algorithms that use them."""
    brought = [defaults(dataset, entry) for entry in ALGORITHMS.ours.values()]
    if name in ("model", "shift"):
        value = brought[0][f"{name}.name"]
        return f"`{' '.join(value) if isinstance(value, list) else value}`" if value else "none"
    places = [f"{table}.{name}" for table in ("algorithm", "local", "run")]
    found = [each[place] for each in brought for place in places if each.get(place)]
    return f"{found[0]:g}" if found else "-" if getattr(Defaults(), name) is None else "0"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
