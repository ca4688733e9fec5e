"""Tables of accuracies over seeds, and of each row's loss against another, as Markdown.

Figures are rounded once, here, from what every run gave.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any, TypeAlias

from common import line
from reliability_rows import TABLES, Row, command, sets
from scipy.stats import t as student

__all__ = ["BESIDE", "Runs", "against", "cost", "difference", "markdown", "mean"]

Runs: TypeAlias = Mapping[Row, Mapping[int, Any]]  # by row, then by seed

COVERED = 0.95


def markdown(name: str, runs: Runs) -> Iterator[str]:
    """Yield a table line by line, with the rows that were run, and the command that made it."""
    table = TABLES[name]
    beside = [BESIDE[each][0] for each in table.beside]
    heads = (table.head, "best", "difference", "final", "difference", *beside, "settings")
    yield line(*heads)
    yield "|---|" + "---:|" * (len(heads) - 2) + "---|"
    for row, settings in table.rows.items():
        if (name, row) in runs:
            told = f"`{sets(settings)}`" if settings else ""
            yield line(row, *_figures(name, row, runs), told)
    yield ""
    yield f"Seeds 0 to {table.seeds - 1}, by `{command(table.seeds, {})}` and the settings."


def _figures(name: str, row: str, runs: Runs) -> Iterator[str]:
    table, own = TABLES[name], runs[name, row]
    for score in ("best", "final"):
        yield mean(getattr(run, score) for run in own.values())
        same = (name, row) == table.against
        yield "" if same else difference(against(own, runs[table.against], score))
    for each in table.beside:
        yield BESIDE[each][1]([getattr(run, each) for run in own.values()])


def against(own: Mapping[int, Any], other: Mapping[int, Any], score: str) -> list[float]:
    """Return the differences of runs to others with the same seeds."""
    return [getattr(run, score) - getattr(other[seed], score) for seed, run in own.items()]


def difference(values: Sequence[float]) -> str:
    """Return the mean of differences in points, and its 95 % interval by Student's t.

    >>> difference([-0.01, -0.02, -0.03])
    '-2.0 (-4.5 to +0.5)'
    """
    middle, low, high = (_signed(value) for value in _interval(values))
    return f"{middle} ({low} to {high})"


def cost(values: Sequence[float]) -> str:
    """Return the same as a loss.

    >>> cost([-0.01, -0.02, -0.03])
    '2.0 points (-0.5 to 4.5)'
    """
    middle, low, high = (f"{100 * value:z.1f}" for value in _interval([-each for each in values]))
    return f"{middle} points ({low} to {high})"


def _interval(values: Sequence[float]) -> tuple[float, float, float]:
    middle, number = fmean(values), len(values)
    reach = student.ppf((1 + COVERED) / 2, number - 1) * stdev(values) / sqrt(number)
    return middle, middle - reach, middle + reach


def mean(shares: Iterable[float]) -> str:
    """Return the mean of fractions in %.

    >>> mean([0.95, 0.96])
    '95.5'
    """
    return f"{100 * fmean(shares):.1f}"


def _signed(share: float) -> str:
    text = f"{100 * share:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def _spent(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{float(f'{max(known):.3g}'):,g}" if known else "-"


# By the name of a figure: its heading, and the function that formats its values.
BESIDE: Mapping[str, tuple[str, Callable[[Sequence[Any]], str]]] = MappingProxyType(
    {
        "honest": ("final, honest clients", mean),
        "rejected": ("answers rejected", lambda values: f"{fmean(values):,.0f}"),
        "epsilon": ("epsilon at delta 0.001", _spent),
    }
)
