"""The settings and sizes of a run, shown before it starts, as rows on a terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console, Group
from rich.text import Text

from flexcfl import lines
from flexcfl.errors import printable
from flexcfl.experiment.choices import NONE
from flexcfl.experiment.experiment import Tables
from flexcfl.experiment.resolve import Resolved
from flexcfl.lines import Folded, bytes_text, unbroken

Rows: TypeAlias = Mapping[str, Text]

WIDTH = len("discrepancy")
LARGE = 100 * 10**6  # bytes of memory that deserve a line of their own


def print_rows(rows: Rows, console: Console) -> None:
    """Print rows, wrapped to fit a terminal; elsewhere each row is one line of any length."""
    width = max([WIDTH, *map(len, rows)])
    heads = {name: Text(f"{name:{width}}  ", "cyan") for name in rows}
    lines.show(Group(*(Folded(text, heads[name]) for name, text in rows.items())), console)


def resolved_rows(resolved: Resolved, file: Path | None) -> Rows:
    """Return all settings; given ones are bold and show their source."""
    head = {"file": unbroken(printable(str(file)))} if file else {}
    return {**head, **rows_by_table(resolved.experiment.tables(), resolved.sources)}


def rows_by_table(tables: Tables, marks: Mapping[str, str]) -> Rows:
    """Return settings table by table; those with a mark are bold and show it."""
    return {
        printable(table): Text(", ").join(
            setting_text(key, value, marks.get(f"{table}.{key}")) for key, value in keys.items()
        )
        for table, keys in tables.items()
    }


def setting_text(key: str, value: Any, mark: str | None = None) -> Text:
    """Return a setting with its value in one piece; with a mark, it is bold and shows it."""
    name = () if key == "name" else (f"{printable(key)} ",)
    text = unbroken(printable(name_text(value) if key == "name" else value_text(value)))
    return Text.assemble(*name, text, f" ({mark})" if mark else "", style="bold" if mark else "")


def name_text(value: str | list[str]) -> str:
    """Return a name, or the names of combined shifts."""
    return value if isinstance(value, str) else " and ".join(value) or NONE


def value_text(value: Any) -> str:
    """Return a value in the syntax of ``--set``."""
    if isinstance(value, list):
        return f"[{','.join(map(value_text, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}={value_text(each)}' for key, each in value.items())}}}"
    return str(value)


def size_rows(
    clients: int, parameters: int, kept: int, algorithm: str, held: str, *, slow: bool
) -> Rows:
    """Return the sizes of the federation and the model.

    ``kept`` is how many bytes of clients' vectors are stored, and ``held`` describes the data.
    Training is ``slow`` if it could be compiled, but Numba is missing.
    """
    vectors = [f"{bytes_text(kept)} of clients' vectors"] if kept else []
    words = [f"{clients:,} clients", held, f"{parameters:,} parameters", *vectors]
    rows = {"sizes": ", ".join(words)}
    if kept >= LARGE:
        what = f"the client vectors that {algorithm} stores"
        rows["memory"] = f"about {bytes_text(kept)} for {what}"
    if slow:
        rows["speed"] = "Numba cannot be imported; without it, training takes many times as long"
    return {name: Text(text) for name, text in rows.items()}
