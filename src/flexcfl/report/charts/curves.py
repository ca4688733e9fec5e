"""Charts that compare methods: accuracy, loss and discrepancy over rounds, and traffic."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.record.record import Record, measured_rounds, runs_by_method
from flexcfl.report.charts.figure import (
    Chart,
    axis,
    escaped,
    json_numbers,
    layout,
    percent,
    rounds_axis,
)
from flexcfl.report.charts.palette import method_style, with_opacity

BAND = 0.16
MOST_NAMED = 5  # with more methods, the text names only the highest and the lowest
NOT_MEASURED = "No round has been measured yet."
SPREAD = " Lines are means over the seeds; bands go from the lowest to the highest seed."


def accuracy(records: Sequence[Record]) -> Chart:
    """Return the accuracy over rounds, in percent."""
    text = f"{_finals(records)}{_spread(records)}"
    data = _lines(records, "accuracy", 100)
    shown = layout(yaxis=_percents(data), xaxis=_rounds(records), hovermode="x unified")
    columns = ("method", "round", "accuracy_percent")
    return Chart("accuracy", "Accuracy over rounds", text, data, shown, columns)


def loss(records: Sequence[Record]) -> Chart:
    """Return the cohort's training loss over rounds."""
    what = "Mean training loss of the cohort in its last local epoch."
    return _over_rounds(records, "loss", "training loss", what)


def discrepancy(records: Sequence[Record]) -> Chart:
    """Return the discrepancy over rounds (Equation 3 of the paper)."""
    what = "Distance of clients' models, after local training, from the model of their group."
    return _over_rounds(records, "discrepancy", "discrepancy", what)


def _over_rounds(records: Sequence[Record], column: str, title: str, what: str) -> Chart:
    """Return a column of ``rounds.csv`` as curves; the text says ``what`` it is and how it ends."""
    text = f"{what} {_ends(records, column)}{_spread(records)}"
    shown = layout(yaxis=axis(title), xaxis=_rounds(records), hovermode="x unified")
    data, columns = _lines(records, column), ("method", "round", column)
    return Chart(column, f"{column.capitalize()} over rounds", text, data, shown, columns)


def traffic(records: Sequence[Record]) -> Chart:
    """Return the accuracy over the bytes sent so far."""
    data = []
    for index, (method, runs) in enumerate(runs_by_method(records).items()):
        sent = np.cumsum(_mean(runs, "down_bytes") + _mean(runs, "up_bytes")) / 1e6
        reached = 100 * _mean(runs, "accuracy")
        known = ~np.isnan(reached)
        data.append(_line(method, index, json_numbers(sent[known]), json_numbers(reached[known])))
    text = (
        "Traffic is the bytes of the algorithm's messages in both directions, as the mean over the "
        "seeds."
    )
    shown = layout(xaxis=axis("megabytes sent", rangemode="tozero"), yaxis=_percents(data))
    columns = ("method", "megabytes", "accuracy_percent")
    return Chart("traffic", "Accuracy against traffic", text, data, shown, columns)


def _rounds(records: Sequence[Record]) -> dict[str, Any]:
    return rounds_axis(max(record.total for record in records))


def _percents(data: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an axis of accuracies, from 0 to 100 if there are none yet."""
    some = any(trace["y"] for trace in data)
    return axis("accuracy in %", **({} if some else {"range": [0, 100]}))


def _lines(records: Sequence[Record], column: str, scale: float = 1) -> list[dict[str, Any]]:
    data = []
    for index, (method, runs) in enumerate(runs_by_method(records).items()):
        numbers, *values = over_seeds(scale * _stacked(runs, column))
        x, (low, mean, high) = numbers.tolist(), map(json_numbers, values)
        line = _line(method, index, x, mean)
        if len(runs) > 1:
            data.append(_band(method, index, x, low, high))
            line["customdata"] = [list(pair) for pair in zip(low, high, strict=True)]
        data.append(line)
    return data


def over_seeds(values: NDArray[np.float64]) -> tuple[NDArray[Any], ...]:
    """Return the rounds that any seed has measured, and the lowest, mean and highest value there.

    ``values`` has seeds as rows and rounds as columns, NaN if nothing was measured.
    """
    known = np.flatnonzero(~np.isnan(values).all(axis=0))
    return known + 1, *(of(values[:, known], 0) for of in (np.nanmin, np.nanmean, np.nanmax))


def _band(
    method: str, index: int, x: list[int], low: list[float], high: list[float]
) -> dict[str, Any]:
    """Return the area between the lowest and the highest seed."""
    return {
        "type": "scatter",
        "x": [*x, *x[::-1]],
        "y": [*high, *low[::-1]],
        "fill": "toself",
        "fillcolor": with_opacity(method_style(index)[0], BAND),
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": escaped(method),
        "meta": method,
        "name": f"{escaped(method)}, lowest and highest",
    }


def _line(method: str, index: int, x: list[Any], y: list[Any]) -> dict[str, Any]:
    colour, dash = method_style(index)
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "mode": "lines" if len(x) > 1 else "markers",
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"color": colour, "size": 8},
        "name": escaped(method),
        "legendgroup": escaped(method),
        "meta": method,
    }


def _stacked(runs: Sequence[Record], column: str) -> NDArray[np.float64]:
    """Return a figure with seeds as rows and rounds as columns, NaN for rounds still to come."""
    longest = max(run.done for run in runs)
    values = np.full((len(runs), longest), np.nan)
    for index, run in enumerate(runs):
        values[index, : run.done] = run.rounds[column]
    return values


def _mean(runs: Sequence[Record], column: str) -> NDArray[np.float64]:
    """Return the mean over the seeds that have a figure, NaN if none was measured in a round."""
    known = np.ma.masked_invalid(_stacked(runs, column))
    mean: NDArray[np.float64] = known.mean(axis=0).filled(np.nan)
    return mean


def _last(values: NDArray[np.float64]) -> float | None:
    known = values[~np.isnan(values)]
    return float(known[-1]) if len(known) else None


def _finals(records: Sequence[Record]) -> str:
    """Describe the final accuracies, over the rounds in which every method is measured."""
    rounds = measured_rounds(records)
    finals = _in_words(records, lambda record: record.scored(rounds).final, percent)
    if finals:
        return f"Final accuracy, the mean of the last ten rounds: {finals}"
    some = any(record.scored().best is not None for record in records)
    return "No round has been measured for every method yet." if some else NOT_MEASURED


def _ends(records: Sequence[Record], column: str) -> str:
    """Describe where the curves of a column end."""
    ends = _in_words(records, lambda record: _last(record.rounds[column]), "ends at {:.3g}".format)
    return ends or NOT_MEASURED


def _in_words(
    records: Sequence[Record], of: Callable[[Record], float | None], spoken: Callable[[float], str]
) -> str:
    """Describe one figure of each method, the mean over the seeds that have it."""
    means = {}
    for method, runs in runs_by_method(records).items():
        known = [value for value in map(of, runs) if value is not None]
        if known:
            means[method] = float(np.mean(known))
    if not means:
        return ""
    least, most = (end(means, key=means.__getitem__) for end in (min, max))
    named = list(means) if len(means) <= MOST_NAMED else [most, least]
    text = ", ".join(f"{method} {spoken(means[method])}" for method in named)
    some = "" if len(means) <= MOST_NAMED else f"Highest and lowest of {len(means)} methods: "
    return f"{some}{text}."


def _spread(records: Sequence[Record]) -> str:
    return SPREAD if len(records) > len(runs_by_method(records)) else ""
