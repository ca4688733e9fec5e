"""A chart: a Plotly figure with a text that says what it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEW = 10  # up to this number, every whole number has a tick


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure with its title and a text for people who cannot see it.

    Attributes:
        name: The name under which it was requested, such as ``accuracy``.
        title: The title.
        text: What the chart shows, in sentences.
        data: The traces, as Plotly takes them.
        layout: The layout, as Plotly takes it.
        columns: The column names of the downloaded data: the name of a line, then its axes.

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
        """The argument for ``plotly.graph_objects.Figure`` and ``Plotly.newPlot``."""
        return {"data": list(self.data), "layout": dict(self.layout)}

    def content(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        texts = {"name": self.name, "title": self.title, "text": self.text}
        return {**texts, **self.figure, "columns": list(self.columns)}


def layout(**more: Any) -> dict[str, Any]:
    """Return the layout that all charts share; fonts and background come from the page."""
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
    """Return an axis of whole numbers up to ``most``, without ticks between them."""
    return axis(title, **({"dtick": 1} if most <= FEW else {}), **more)


def client_axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis of clients, without their names: there may be too many."""
    hidden: dict[str, Any] = {"showticklabels": False, "ticks": "", "showgrid": False}
    return axis(title, type="category", **more, **hidden)


def rounds_axis(total: int) -> dict[str, Any]:
    """Return an axis with room for all rounds, including those still to come."""
    return count_axis("round", total, range=[0, total + 1])


def escaped(text: str) -> str:
    """Escape a name, because Plotly interprets some tags as markup.

    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    return escape(text, quote=False)


def json_numbers(values: NDArray[Any], digits: int = 6) -> list[Any]:
    """Return numbers for JSON with some significant digits, and None for NaN and infinity.

    >>> json_numbers(np.array([0.123456789, np.nan, np.inf]))
    [0.123457, None, None]
    """
    if values.dtype.kind != "f":
        found: list[Any] = values.tolist()
        return found
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


def percent(share: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.9534)
    '95.3 %'
    """
    return f"{100 * share:.1f} %"
