"""What a person sees before a run: its settings and its sizes, as rows of a terminal."""

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
from flexcfl.lines import Folded, bytes_text, whole

__all__ = [
    "WIDTH",
    "Rows",
    "name_text",
    "print_rows",
    "resolved_rows",
    "rows_by_table",
    "setting_text",
    "size_rows",
    "value_text",
]

Rows: TypeAlias = Mapping[str, Text]

WIDTH = len("discrepancy")
LARGE = 100 * 10**6  # bytes from which on memory is worth a line of its own


def print_rows(rows: Rows, console: Console) -> None:
    """Print rows, folded to fit a terminal; elsewhere a row is one line, however long."""
    width = max([WIDTH, *map(len, rows)])
    heads = {name: Text(f"{name:{width}}  ", "cyan") for name in rows}
    lines.show(Group(*(Folded(text, heads[name]) for name, text in rows.items())), console)


def resolved_rows(resolved: Resolved, file: Path | None) -> Rows:
    """Return all settings, those that were given in bold and with their source."""
    head = {"file": whole(printable(str(file)))} if file else {}
    return {**head, **rows_by_table(resolved.experiment.tables(), resolved.sources)}


def rows_by_table(tables: Tables, marks: Mapping[str, str]) -> Rows:
    """Return settings table by table, those that have a mark in bold and with it."""
    return {
        printable(table): Text(", ").join(
            setting_text(key, value, marks.get(f"{table}.{key}")) for key, value in keys.items()
        )
        for table, keys in tables.items()
    }


def setting_text(key: str, value: Any, mark: str | None = None) -> Text:
    """Return a setting, with its value in one piece; in bold if it has a mark, and with it."""
    name = () if key == "name" else (f"{printable(key)} ",)
    text = whole(printable(name_text(value) if key == "name" else value_text(value)))
    return Text.assemble(*name, text, f" ({mark})" if mark else "", style="bold" if mark else "")


def name_text(value: str | list[str]) -> str:
    """Return a name, or the names of shifts that act together."""
    return value if isinstance(value, str) else " and ".join(value) or NONE


def value_text(value: Any) -> str:
    """Return a value as ``--set`` takes it."""
    if isinstance(value, list):
        return f"[{','.join(map(value_text, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}={value_text(each)}' for key, each in value.items())}}}"
    return str(value)


def size_rows(
    clients: int, parameters: int, kept: int, algorithm: str, held: str, *, slow: bool
) -> Rows:
    """Return how large the federation and the model are.

    ``kept`` is how many bytes of clients' vectors are kept, and ``held`` what is known of the data.
    Training is ``slow`` where it could be compiled, and Numba is missing.
    """
    vectors = [f"{bytes_text(kept)} of clients' vectors"] if kept else []
    words = [f"{clients:,} clients", held, f"{parameters:,} parameters", *vectors]
    rows = {"sizes": ", ".join(words)}
    if kept >= LARGE:
        what = f"what {algorithm} keeps of its clients at once"
        rows["memory"] = f"about {bytes_text(kept)} for {what}"
    if slow:
        rows["speed"] = "without Numba, which cannot be imported, training takes many times as long"
    return {name: Text(text) for name, text in rows.items()}
