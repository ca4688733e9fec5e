"""What a target leaves: its table in three forms, a line for each run, pictures and a page."""

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flexcfl.paper import origin
from flexcfl.paper.drawing import STYLE
from flexcfl.paper.results import Result
from flexcfl.paper.targets import Made
from flexcfl.report.page import Report, Table, html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["files"]


def files(
    made: Made, by: Sequence[str], results: Sequence[Result], title: str, folder: Path
) -> Iterator[tuple[str, bytes]]:
    """Yield files by the ending of their names; ``by`` are sentences on what made them."""
    if made.sheet:
        yield ".txt", (made.sheet.text() + "".join(f"{line}\n" for line in by)).encode()
        yield ".md", (made.sheet.markdown() + "".join(f"- {line}\n" for line in by)).encode()
        yield ".csv", made.sheet.csv().encode()
    if results:
        yield "-runs.csv", origin.runs(results).encode()
        paths = [result.path for result in results if result.path]
        if len(paths) == len(results):  # a record has no more than tables and pictures need
            yield ".html", _page(made, by, paths, title, folder).encode()
    yield from ((f"-{ending}.csv", text.encode()) for ending, text in made.files.items())
    if made.draw:
        yield from _pictures(made.draw, title, " ".join(by))


def _page(made: Made, by: Sequence[str], runs: Sequence[Path], title: str, folder: Path) -> str:
    """Return a page with the table, and with charts of all runs."""
    report = Report.of(runs)
    if not made.sheet:
        return html(report, title, beside=folder)
    sheet = made.sheet
    table = Table(sheet.title, ["", "", *sheet.columns], sheet.lines(), [*sheet.notes, *by])
    return html(report, sheet.title, table=table, beside=folder)


def _pictures(draw: "Callable[[], Figure]", title: str, by: str) -> Iterator[tuple[str, bytes]]:
    from matplotlib import style  # here, because it takes a second to import

    with style.context(["default", STYLE, {"font.size": 9}]):
        picture = draw()
        described = {"Date": None, "Title": title, "Description": by}
        for kind, metadata in (("svg", described), ("png", {})):
            content = io.BytesIO()
            picture.savefig(content, format=kind, dpi=150, metadata=metadata)
            yield f".{kind}", content.getvalue()
