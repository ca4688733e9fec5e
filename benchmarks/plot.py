"""Draw the results of benchmarks/peers.py: a bar for every time.

Example: python benchmarks/plot.py
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flexcfl.paper.drawing import STYLE
from flexcfl.report.charts.palette import COLOURS

HERE = Path(__file__).parent
RESULTS = HERE / "results.md"
PICTURE = HERE.parent / "docs" / "images" / "speed.svg"
OURS, PEERS = COLOURS[1], "#9aa5b1"
TITLE = "Microseconds per client step, shorter is faster"


@dataclass(frozen=True)
class Results:
    """A table of results: the workloads, and each contestant's times, None if it has none."""

    works: list[str]
    times: dict[str, list[float | None]]


def read(markdown: str) -> Results:
    """Read the first table of a report."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    works = [cell.strip() for cell in lines[0].strip("|").split("|")[1:]]
    times = {}
    for line in lines[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if not name:  # the next table begins
            break
        times[name] = [_time(cell) for cell in cells]
    return Results(works, times)


def draw(results: Results, path: Path) -> None:
    """Write the picture, the same for the same results."""
    height = 0.9 + 0.3 * len(results.times)
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(9.4, height), layout="constrained")
        panels = figure.subplots(1, len(results.works), sharey=True, squeeze=False)[0]
        figure.suptitle(TITLE, fontsize=11)
        names = list(results.times)
        for place, (axes, work) in enumerate(zip(panels, results.works, strict=True)):
            values = [results.times[name][place] for name in names]
            colours = [OURS if name.startswith("flexcfl") else PEERS for name in names]
            axes.barh(names, [value or 0 for value in values], color=colours)
            axes.set_title(work, size=10)
            axes.grid(visible=False, axis="y")
            axes.locator_params("x", nbins=4)
            _write(axes, values)
        panels[0].invert_yaxis()
        metadata = {"Date": None, "Title": TITLE}
        figure.savefig(path, format="svg", metadata=metadata)


def _write(axes: Axes, values: Sequence[float | None]) -> None:
    """Write every time next to its bar, and make room for it."""
    known = [value for value in values if value is not None] or [1.0]
    axes.set_xlim(0, max(known) * 1.35)
    for place, value in enumerate(values):
        text = "not measured" if value is None else f" {value:,.0f}" if value >= 10 else f" {value}"
        axes.text(value or 0, place, text, va="center", fontsize=9)


def _time(cell: str) -> float | None:
    found = re.match(r"[\d,.]+", cell)
    return float(found[0].replace(",", "")) if found else None


def main() -> None:
    """Read the report and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="report of peers.py")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="file to write")
    options = parser.parse_args()
    draw(read(options.results.read_text(encoding="utf-8")), options.picture)


if __name__ == "__main__":
    main()
