"""The page: one self-contained file, or a live page that is served while runs continue.

It contains everything that it loads, and its policy forbids the browser to fetch or run anything
else.
"""

import base64
import gzip
import hashlib
import json
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from flexcfl import __version__
from flexcfl.errors import SettingsError
from flexcfl.record.folder import write as write_file
from flexcfl.record.metrics import rounds_text
from flexcfl.report.charts.palette import DARK
from flexcfl.report.page import text
from flexcfl.report.page.content import Report, Setting

REPORT = "report.html"
COMPRESSION = 6  # the gzip level: a higher one takes longer and saves little


@dataclass(frozen=True)
class PageTable:
    """An additional table on a page.

    Attributes:
        title: The title.
        head: The column names.
        lines: The rows, one text for each column.
        notes: Sentences below the table that explain it.

    """

    title: str
    head: Sequence[str]
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def write_page(paths: Iterable[Path], out: Path, name: str | None = None) -> Report:
    """Write the page of the runs in these folders, or within them, and return its content."""
    if out.is_dir() or not out.name:
        raise SettingsError(f"'{out}' is a folder: name the file to write, such as {out / REPORT}.")
    _check_regular(out)
    report = Report.of(paths)
    # A name from the command line may contain bytes that are not valid text.
    write_file(out.parent, out.name, html(report, name).encode("utf-8", "replace"))
    return report


def _check_regular(out: Path) -> None:
    """Refuse to replace /dev/null, /dev/stdout or a pipe, which root could do."""
    try:
        mode = out.lstat().st_mode
    except (OSError, ValueError):  # the path is free, or writing will report the error
        return
    if not stat.S_ISREG(mode):
        raise SettingsError(
            f"'{out}' is a link, a device or a pipe, which a page would replace: name a file to "
            "write, such as report.html."
        )


def html(
    report: Report,
    name: str | None = None,
    *,
    live: bool = False,
    table: PageTable | None = None,
    relative_to: Path | None = None,
) -> str:
    """Return the HTML of a page.

    Args:
        report: The runs to show.
        name: The title; by default, it names the methods and the data.
        live: Whether the page repeatedly asks its server for new rounds.
        table: An additional table at the top.
        relative_to: The folder in which the page will be saved next to its runs. Commands then use
            relative paths, so that the folder can be moved or sent to others.

    Returns:
        The HTML text.

    Example:
        from pathlib import Path
        from flexcfl.report.page import Report, html

        Path("report.html").write_text(html(Report.of([Path("runs")])))

    """
    script, (plotly, packed) = _asset("page.js"), _plotly()
    made: str = _template("page.html.jinja").render(
        title=name or text.title(report),
        table=table,
        version=__version__,
        live=live,
        policy=_policy([script, plotly], live),
        style=_asset("page.css"),
        script=script,
        plotly=packed,
        state=json.dumps(page_state(report, live=live), allow_nan=False).replace("<", "\\u003c"),
        chapters={} if live else _chapters(report),
        words=_rendered("results.html.jinja", report),
        commands=_rendered("again.html.jinja", report, relative_to),
    )
    return made


def page_state(report: Report, *, live: bool) -> dict[str, Any]:
    """Return the initial data of the page's script: the names of settings, methods and runs."""
    return {
        "live": live,
        "finished": report.finished,
        "status": text.progress_text(report),
        "words": _rendered("results.html.jinja", report) if live else "",
        "commands": _rendered("again.html.jinja", report) if live else "",
        "dark": {light.lower(): dark for light, dark in DARK.items()},
        "settings": [
            {
                "name": setting.name,
                "methods": list(setting.methods),
                "first": _shown_first(setting, report.detailed(setting)),
                "runs": [
                    {"name": setting.titles[place], "chapter": place}
                    for place in report.detailed(setting)
                ],
            }
            for setting in report.settings
        ],
    }


def _shown_first(setting: Setting, shown: Sequence[int]) -> int:
    """Return the run to show first: the most accurate one of those with groups."""
    runs, measured = [setting.runs[place] for place in shown], setting.measured
    grouped = [place for place, record in enumerate(runs) if record.group_count > 1]
    return max(grouped or [0], key=lambda place: runs[place].scored(measured).final or 0.0)


def _rendered(template: str, report: Report, relative_to: Path | None = None) -> str:
    """Return the HTML of a section with text and tables."""
    settings = [
        {
            "name": setting.name,
            "facts": text.facts(setting),
            "over": rounds_text(setting.measured, len(setting.methods)),
            "lines": text.result_lines(setting),
            "again": text.reruns(setting, relative_to),
        }
        for setting in report.settings
    ]
    return str(
        _template(template).render(
            settings=settings, left_out=report.left_out, relative_to=relative_to
        )
    )


def _policy(scripts: list[str], live: bool) -> str:
    """Return the content security policy: run only these scripts, and contact no other server."""
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes)
    reach = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {reach}; base-uri 'none'; form-action 'none'"
    )


def _chapters(report: Report) -> dict[str, str]:
    """Return all charts by the name of their chapter, compressed."""
    dense = (",", ":")
    return {
        name: _packed(json.dumps(report.chapter(name), allow_nan=False, separators=dense))
        for name in report.chapters()
    }


def _packed(content: str) -> str:
    # Without a timestamp, so that the same runs give the same page.
    return base64.b64encode(gzip.compress(content.encode(), COMPRESSION, mtime=0)).decode()


@cache
def _plotly() -> tuple[str, str]:
    """Return the script that draws charts, plain and compressed."""
    try:
        from plotly.offline import get_plotlyjs  # here, because importing it is slow
    except ImportError:
        raise SettingsError(
            "Plotly, which draws the charts, is missing: pip install plotly"
        ) from None
    # A browser reads a line end as one character before it computes the hash.
    source: str = get_plotlyjs().replace("\r\n", "\n")
    return source, _packed(source)


@cache
def _asset(name: str) -> str:
    return (resources.files("flexcfl.report.page") / "assets" / name).read_text("utf-8")


@cache
def _template(name: str) -> Any:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset(name))
