"""The figures of runs from ``results/*-runs.csv``, and their format on pages."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

__all__ = ["RESULTS", "Runs", "one", "runs", "seeds"]

RESULTS = Path(__file__).resolve().parent.parent / "results"
WHOLE = 300  # rounds of the paper


@dataclass(frozen=True)
class Runs:
    """The lines of one file, in which a table row, a shift and a method identify the runs."""

    lines: Sequence[Mapping[str, str]]

    def rows(self, rounds: int = WHOLE) -> list[str]:
        """Return the settings that have runs of ``rounds`` rounds, in the order of the file."""
        return list(dict.fromkeys(line["setting"] for line in self._of(rounds)))

    def methods(self, setting: str, rounds: int = WHOLE) -> list[str]:
        """Return the methods of a setting."""
        lines = self._of(rounds)
        return list(dict.fromkeys(line["method"] for line in lines if line["setting"] == setting))

    def figures(
        self, column: str, row: str, method: str, shift: str = "none", rounds: int = WHOLE
    ) -> list[float]:
        """Return one figure of each seed, without the seeds that do not have it."""
        setting = row if shift == "none" else f"{row}-{shift}"
        mine = (setting, method)
        lines = [
            line for line in self._of(rounds) if (line["setting"], line["method"]) == mine
        ]  # fmt: skip
        if not lines:
            raise LookupError(f"no run of {method} on {setting}, {rounds} rounds")
        ordered = sorted(lines, key=lambda line: int(line["seed"]))
        return [float(line[column]) for line in ordered if line[column]]

    def mean(
        self, column: str, row: str, method: str, shift: str = "none", rounds: int = WHOLE
    ) -> float:
        """Return the mean over the seeds."""
        return fmean(self.figures(column, row, method, shift, rounds))

    def _of(self, rounds: int) -> list[Mapping[str, str]]:
        return [line for line in self.lines if line["rounds"] == str(rounds)]


@cache
def runs(target: str) -> Runs:
    """Return the runs behind a table or a figure."""
    with (RESULTS / f"{target}-runs.csv").open(newline="", encoding="utf-8") as file:
        return Runs(list(csv.DictReader(file)))


def one(share: float) -> str:
    """Return an accuracy in % with one decimal; only this function rounds for pages."""
    return f"{100 * share:.1f}"


def seeds(number: int) -> str:
    """Return the number of seeds as text."""
    return "1 seed" if number == 1 else f"{number} seeds"
