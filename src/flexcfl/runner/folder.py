"""The folder that a run leaves: settings, tables that grow with the rounds, and what came of them.

Files are written whole or not at all, and the tables grow by the whole lines of a round.
``summary.json`` comes last: where it is, all is.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from flexcfl.errors import TrainingError
from flexcfl.runner import tables
from flexcfl.runner.figures import Entry, Figures, GroupFigures, Membership, Timing
from flexcfl.runner.loop import Round

__all__ = ["EXPERIMENT", "ROUNDS", "RunFolder", "write"]

EXPERIMENT, SUMMARY = "experiment.toml", "summary.json"
ROUNDS, GROUPS, TIMINGS = "rounds.csv", "groups.csv", "timings.csv"
LEDGER, MEMBERSHIP = "ledger.csv", "membership.csv"

Rows: TypeAlias = Sequence[Figures | GroupFigures | Entry | Membership | Timing]


@dataclass(frozen=True)
class RunFolder:
    """Writes what belongs to one run."""

    path: Path

    def begin(self, settings: str) -> None:
        """Write down what is run."""
        write(self.path, EXPERIMENT, settings.encode())

    def record(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """Hand on the rounds, each once it is written down."""
        for done in rounds:
            grown: Mapping[str, Rows] = {
                ROUNDS: [done.figures],
                GROUPS: done.groups,
                LEDGER: done.costs,
                MEMBERSHIP: done.members,
                TIMINGS: [done.timing],
            }
            with ExitStack() as kept:
                for name in grown:
                    kept.enter_context(_all_or_nothing(self.path / name))
                for name, rows in grown.items():
                    self._append(name, rows)
            yield done

    def finish(self, files: Iterable[tuple[str, bytes]], summary: Mapping[str, Any]) -> None:
        """Write files by their names, and then the summary."""
        for name, content in files:
            write(self.path, name, content)
        write(self.path, SUMMARY, f"{json.dumps(summary, indent=2, allow_nan=False)}\n".encode())

    def _append(self, name: str, rows: Rows) -> None:
        if not rows:
            return
        with _told(self.path / name) as path, path.open("a", newline="", encoding="ascii") as file:
            head = [] if file.tell() else [[item.name for item in fields(rows[0])]]
            file.write(tables.written([*head, *map(astuple, rows)]))


def write(folder: Path, name: str, content: bytes) -> None:
    """Write a file of a folder, or of one within it, whole or not at all."""
    with _told(folder / name) as path:
        part, inner = path.with_name(f".{path.name}.part"), path.parent != folder
        if inner:
            path.parent.mkdir(exist_ok=True)
        try:
            part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
            if inner:
                _remove_if_empty(path.parent)


@contextmanager
def _all_or_nothing(path: Path) -> Iterator[None]:
    """Take back what was added to a file if the block fails, so that no line is torn."""
    length = path.stat().st_size if path.exists() else 0
    try:
        yield
    except BaseException:
        with suppress(OSError):
            os.truncate(path, length)
            if not length:
                path.unlink()
        raise


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _told(path: Path) -> Iterator[Path]:
    try:
        yield path
    except OSError as error:
        raise TrainingError(
            f"'{path}' cannot be written ({error.strerror}): "
            "make room or mend its rights, and run again."
        ) from None
