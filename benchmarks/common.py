"""Helpers of several benchmarks: options, Markdown tables, and files with a line for each run."""

import argparse
import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

__all__ = ["arguments", "line", "parser", "read", "write"]

DoneT = TypeVar("DoneT")  # a dataclass of figures; fields that may be empty have a default


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that shows a script's description without wrapping it."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def arguments(description: str | None, file: Path) -> argparse.ArgumentParser:
    """Return the parser of a script that fills a file of runs, with the folder of the data."""
    options = parser(description)
    options.add_argument("--data", type=Path, help="folder of the data (or FLEXCFL_DATA)")
    options.add_argument("--runs", type=Path, default=file, help="the file of all runs")
    return options


def line(*cells: object) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def read(file: Path, kind: type[DoneT]) -> list[DoneT]:
    """Return the runs of a file, in its order; none if there is no file."""
    if not file.exists():
        return []
    line_of = TypeAdapter(kind)
    with file.open(encoding="utf-8", newline="") as lines:
        told = [
            {key: value for key, value in line.items() if value} for line in csv.DictReader(lines)
        ]
    return [line_of.validate_python(line) for line in told]


def write(file: Path, kind: type[DoneT], runs: Iterable[DoneT]) -> None:
    """Write runs, in this order."""
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(run) for run in runs)  # type: ignore[call-overload]
