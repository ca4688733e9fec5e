"""Averages and convergence rounds that the paper's text reports, computed from our tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from flexcfl.paper import published
from flexcfl.paper.catalogue import METHODS, ROWS
from tools.claims import COMPARED, at, label, lost, rows
from tools.runs import one, runs

__all__ = ["Average", "Speed", "averages", "drops", "speeds"]

GOALS = ("0.8", "0.85", "0.9")


@dataclass(frozen=True)
class Average:
    """The margin of one method over another, in points, as the mean over a dataset's rows.

    ``alike`` is the paper's margin over the rows that we have, ``paper`` over all its rows.
    """

    says: str
    rows: str
    paper: str
    alike: str
    best: str
    final: str


@dataclass(frozen=True)
class Speed:
    """The rounds that a method needs on one row, as the mean over the seeds that get there."""

    row: str
    method: str
    reached: Sequence[str]
    area: str
    loss: str


SAID = (
    ("flexcfl", "fedavg", "femnist", "+10.6"),
    ("flexcfl", "fedprox", "fashion-mnist", "+3.5"),
    ("flexcfl", "fesem", "mnist", "+8.4"),
    ("flexcfl", "fesem", "femnist", "+40.9"),
    ("flexcfl", "fesem", "fashion-mnist", "+11.3"),
    ("ifca", "flexcfl", "mnist", "-1.3"),
    ("ifca", "flexcfl", "femnist", "-3.3"),
    ("flexcfl-rac", "flexcfl", "mnist", "-5.5"),
    ("flexcfl-rac", "flexcfl", "femnist", "-19.7"),
)


def averages() -> Iterator[Average]:
    """Yield the averages that the paper gives for Table 3, computed from ours."""
    for method, other, dataset, paper in SAID:
        mine = [row for row in rows() if ROWS[row].dataset == dataset]
        says = f"{METHODS[method].short} against {METHODS[other].short}, {dataset}"
        if not mine:
            yield Average(says, "not run with all rounds", paper, "-", "-", "-")
            continue
        alike = [_paper(row, method) - _paper(row, other) for row in mine]
        ours = [
            _points(100 * (at(column, row, method) - at(column, row, other)) for row in mine)
            for column in ("best", "final")
        ]
        yield Average(says, ", ".join(map(label, mine)), paper, _points(alike), *ours)


def _paper(row: str, method: str) -> float:
    figure = published.ACCURACY[row][method]
    if figure is None:
        raise LookupError(f"the paper has no {method} on {row}")
    return figure


def _points(differences: Iterable[float]) -> str:
    return f"{fmean(differences):+.1f}"


def drops() -> str:
    """Return the losses on FEMNIST under swap-all, for which the paper reports the mean."""
    mine = [row for row in rows() if ROWS[row].dataset == "femnist"]
    said = {"ifca": 10.2, "fesem": 11.8, "fedgroup": 23.3, "fedavg": 1.1}
    words = []
    for method, paper in said.items():
        static = "flexcfl" if method == "fedgroup" else method  # without drift they are the same
        points = [100 * lost("best", row, method, "swap-all", static) for row in mine]
        words.append(f"{METHODS[method].short} {fmean(points):.1f} ({paper})")
    return ", ".join(words)


def speeds() -> Iterator[Speed]:
    """Yield when each method reaches each accuracy, and its mean over all shared rounds."""
    for row in rows():
        for method in COMPARED:
            reached = [_reached(row, method, goal) for goal in GOALS]
            area = one(at("area", row, method))
            yield Speed(
                label(row), METHODS[method].short, reached, area, f"{at('loss', row, method):.3g}"
            )


def _reached(row: str, method: str, goal: str) -> str:
    """Return the mean round that reached a goal, or the number of seeds that did not."""
    found, every = (runs("table3").figures(column, row, method)
                    for column in (f"rounds_to_{goal}", "best"))  # fmt: skip
    if len(found) < len(every):
        return "never" if not found else f"in {len(found)} of {len(every)} seeds"
    return f"{fmean(found):.0f}"
