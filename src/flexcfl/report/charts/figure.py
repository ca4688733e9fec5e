"""A chart: a figure as Plotly takes it, with the words that say what it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Chart",
    "axis",
    "client_axis",
    "count_axis",
    "escaped",
    "json_numbers",
    "layout",
    "percent",
    "rounds_axis",
]

FEW = 10  # so many whole numbers have a tick each


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure with its title and what it says to somebody who does not see it.

    ``columns`` are what its data are called where they are downloaded: the name of a line, and
    what stands on its axes.
    """

    name: str
    title: str
    text: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    columns: Sequence[str]

    def __repr__(self) -> str:
        return f"Chart({self.name}: {self.title})"

    @property
    def figure(self) -> dict[str, Any]:
        """What ``plotly.graph_objects.Figure`` and ``Plotly.newPlot`` take."""
        return {"data": list(self.data), "layout": dict(self.layout)}

    def content(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        words = {"name": self.name, "title": self.title, "text": self.text}
        return {**words, **self.figure, "columns": list(self.columns)}


def layout(**more: Any) -> dict[str, Any]:
    """Return what all charts have in common; fonts and paper are those of the page."""
    common = {
        "margin": {"l": 62, "r": 14, "t": 36, "b": 46},
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "height": 360,
    }
    return {**common, **more}


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with its title."""
    return {"title": {"text": title}, "zeroline": False, **more}


def count_axis(title: str, most: float, **more: Any) -> dict[str, Any]:
    """Return an axis of whole numbers, the largest being ``most``, without ticks in between."""
    return axis(title, **({"dtick": 1} if most <= FEW else {}), **more)


def client_axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis of clients, of which there may be too many to name them."""
    hidden: dict[str, Any] = {"showticklabels": False, "ticks": "", "showgrid": False}
    return axis(title, type="category", **more, **hidden)


def rounds_axis(total: int) -> dict[str, Any]:
    """Return an axis with room for all rounds, also for those that are still to come."""
    return count_axis("round", total, range=[0, total + 1])


def escaped(text: str) -> str:
    """Return a name such that Plotly shows it as it is: it takes some tags for markup.

    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    return escape(text, quote=False)


def json_numbers(values: NDArray[Any], digits: int = 6) -> list[Any]:
    """Return numbers as JSON knows them, with so many significant digits, None for no number.

    >>> json_numbers(np.array([0.123456789, np.nan, np.inf]))
    [0.123457, None, None]
    """
    if values.dtype.kind != "f":
        found: list[Any] = values.tolist()
        return found
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


def percent(share: float) -> str:
    """Return a share in words.

    >>> percent(0.9534)
    '95.3 %'
    """
    return f"{100 * share:.1f} %"
