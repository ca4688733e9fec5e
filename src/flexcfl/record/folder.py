"""The folder of a run: settings, tables that grow with the rounds, and results.

Files are written whole or not at all, and tables grow by the complete lines of a round.
``experiment.toml`` gets its content after all other files of the beginning. ``summary.json`` comes
last: if it is there, everything is.
"""

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Any

from flexcfl import disk
from flexcfl.errors import DiskError
from flexcfl.record import csv_tables as tables
from flexcfl.record.summary import Summary
from flexcfl.record.tables import TABLES, Round, Rows

EXPERIMENT, SUMMARY = "experiment.toml", "summary.json"
LABELS, CLIENTS, FOUNDERS = "labels.csv", "clients.csv", "founders.csv"
MODELS, NEWCOMER, EXPORT = "models", "newcomer", "export"  # folders


@dataclass(frozen=True)
class Extent:
    """How far a table goes: the number of its bytes, and their checksum (CRC-32)."""

    length: int = 0
    checksum: int = 0

    def plus(self, text: bytes) -> "Extent":
        """Return the extent after appending a text."""
        return Extent(self.length + len(text), zlib.crc32(text, self.checksum))


@dataclass
class RunFolder:
    """Writes the files of one run; ``extents`` has the extent of each existing table."""

    path: Path
    extents: dict[str, Extent] = field(default_factory=dict)
    _named: int = 0  # tables whose names are on the disk

    def begin(self, settings: str, files: Iterable[tuple[str, bytes]] = ()) -> None:
        """Write files by their names, then ``experiment.toml``."""
        for name, content in files:
            write(self.path, name, content)
        write(self.path, EXPERIMENT, settings.encode())

    def record(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """Yield the rounds, each after it has been written."""
        for done in rounds:
            self._grow(done.rows)
            yield done

    def finish(self, files: Iterable[tuple[str, bytes]], summary: Summary) -> None:
        """Write files by their names, then the summary."""
        self.flush()
        for name, content in files:
            write(self.path, name, content)
        write(self.path, SUMMARY, f"{json.dumps(summary, indent=2, allow_nan=False)}\n".encode())

    def cut(self) -> None:
        """Truncate tables to their extents; a table without one is removed."""
        for name in TABLES:
            with as_disk_error(self.path / name) as path:
                length = self.extents.get(name, Extent()).length
                if path.is_symlink() or path.exists():
                    disk.truncate(path, length)

    def flush(self) -> None:
        """Wait until the tables are on the disk."""
        names = list(self.extents)
        for name in names:
            with as_disk_error(self.path / name) as path:
                disk.flush(path)
        if len(names) > self._named:
            with as_disk_error(self.path):
                disk.flush(self.path)
            self._named = len(names)

    def _grow(self, rows: Rows) -> None:
        """Add the lines of a round to all tables, or to none."""
        lines = {name: self._lines(name, each) for name, each in rows.items() if each}
        try:
            for name, text in lines.items():
                with as_disk_error(self.path / name) as path:
                    disk.append(path, text)
        except BaseException:
            with suppress(DiskError):  # the first error is the one to report
                self.cut()
            raise
        grown = {name: self.extents.get(name, Extent()).plus(text) for name, text in lines.items()}
        self.extents = {**self.extents, **grown}

    def _lines(self, name: str, rows: Sequence[Any]) -> bytes:
        head = [] if name in self.extents else [[item.name for item in fields(rows[0])]]
        return tables.to_csv([*head, *map(astuple, rows)]).encode("ascii")


def write(folder: Path, name: str, content: bytes) -> None:
    """Write a file of a folder or of one of its subfolders, whole or not at all."""
    with as_disk_error(folder / name) as path:
        inner = path.parent != folder
        if inner:
            disk.make_folder(path.parent)
        try:
            disk.write(path, [content])
        except OSError:
            if inner:
                _remove_if_empty(path.parent)
            raise


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        os.rmdir(folder)  # noqa: PTH106


@contextmanager
def as_disk_error(path: Path) -> Iterator[Path]:
    """Turn an ``OSError`` about a file of a run into a ``DiskError``."""
    try:
        yield path
    except OSError as error:
        raise DiskError.of(path, error.strerror) from None
