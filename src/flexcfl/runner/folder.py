"""The folder that a run leaves: settings, one line per round, a summary and the models.

Files are written whole or not at all, and the two tables grow by whole lines. ``summary.json``
comes last: where it is, all is.
"""

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from flexcfl.errors import TrainingError
from flexcfl.runner.loop import Figures, Round, Timing

__all__ = ["EXPERIMENT", "ROUNDS", "RunFolder"]

EXPERIMENT, ROUNDS, TIMINGS = "experiment.toml", "rounds.csv", "timings.csv"
SUMMARY, MODELS = "summary.json", "models"


@dataclass(frozen=True)
class RunFolder:
    """Writes what belongs to one run."""

    path: Path

    def begin(self, settings: str) -> None:
        """Write down what is run."""
        self._write(EXPERIMENT, settings.encode())

    def record(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """Hand on the rounds, each once it is written down."""
        for done in rounds:
            with _all_or_nothing(self.path / ROUNDS), _all_or_nothing(self.path / TIMINGS):
                self._append(ROUNDS, done.figures)
                self._append(TIMINGS, done.timing)
            yield done

    def finish(self, models: Iterable[bytes], summary: Mapping[str, Any]) -> None:
        """Write the models, as safetensors, and the summary."""
        for group, model in enumerate(models):
            self._write(f"{MODELS}/group-{group}.safetensors", model)
        self._write(SUMMARY, f"{json.dumps(summary, indent=2, allow_nan=False)}\n".encode())

    def _append(self, name: str, row: Figures | Timing) -> None:
        with _told(self.path / name) as path, path.open("a", newline="", encoding="ascii") as file:
            lines = csv.writer(file, lineterminator="\n")
            if file.tell() == 0:
                lines.writerow(item.name for item in fields(row))
            lines.writerow(astuple(row))  # floats as repr, so that they can be read back exactly

    def _write(self, name: str, content: bytes) -> None:
        with _told(self.path / name) as path:
            path.parent.mkdir(exist_ok=True)
            part = path.with_name(f".{path.name}.part")
            try:
                part.write_bytes(content)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
                if path.parent != self.path:
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
