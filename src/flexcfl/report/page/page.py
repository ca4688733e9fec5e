"""The page: one file that needs nothing else, or what is served while runs go on.

All that it loads lies in it, and its policy forbids the browser to fetch, or to run, anything else.
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

__all__ = ["REPORT", "PageTable", "html", "page_state", "write_page"]

REPORT = "report.html"
COMPRESSION = 6  # how hard is tried to make the page small: more takes longer for little


@dataclass(frozen=True)
class PageTable:
    """A further table of a page: its title, its head, its lines and notes on how to read it."""

    title: str
    head: Sequence[str]
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def write_page(paths: Iterable[Path], out: Path, name: str | None = None) -> Report:
    """Write the page of the runs in these folders, or within them, and return what is in it."""
    if out.is_dir() or not out.name:
        raise SettingsError(f"'{out}' is a folder: name the file to write, such as {out / REPORT}.")
    _check_regular(out)
    report = Report.of(paths)
    # A name from the command line may hold bytes that are no text.
    write_file(out.parent, out.name, html(report, name).encode("utf-8", "replace"))
    return report


def _check_regular(out: Path) -> None:
    """Refuse to put a file in the place of /dev/null, /dev/stdout or a pipe, which root could."""
    try:
        mode = out.lstat().st_mode
    except (OSError, ValueError):  # there is nothing, or writing it will say what is wrong
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
    beside: Path | None = None,
) -> str:
    """Return the page; a ``live`` one asks its server for what it shows, again and again.

    Where it will lie ``beside`` its runs, in that folder, commands name them from there, so that
    the folder may be moved and sent to others.
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
        commands=_rendered("again.html.jinja", report, beside),
    )
    return made


def page_state(report: Report, *, live: bool) -> dict[str, Any]:
    """Return what the page's script knows from the start: settings, methods and runs by name."""
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
    """Return which of the runs shown comes first: of those with groups the most accurate."""
    runs, measured = [setting.runs[place] for place in shown], setting.measured
    grouped = [place for place, record in enumerate(runs) if record.group_count > 1]
    return max(grouped or [0], key=lambda place: runs[place].scored(measured).final or 0.0)


def _rendered(template: str, report: Report, beside: Path | None = None) -> str:
    """Return what stands on the page in words and tables."""
    settings = [
        {
            "name": setting.name,
            "facts": text.facts(setting),
            "over": rounds_text(setting.measured, len(setting.methods)),
            "lines": text.result_lines(setting),
            "again": text.reruns(setting, beside),
        }
        for setting in report.settings
    ]
    return str(
        _template(template).render(settings=settings, left_out=report.left_out, beside=beside)
    )


def _policy(scripts: list[str], live: bool) -> str:
    """Return what a browser may do on the page: run these scripts, and reach nobody."""
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes)
    reach = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {reach}; base-uri 'none'; form-action 'none'"
    )


def _chapters(report: Report) -> dict[str, str]:
    """Return all charts by the names of their chapters, packed."""
    dense = (",", ":")
    return {
        name: _packed(json.dumps(report.chapter(name), allow_nan=False, separators=dense))
        for name in report.chapters()
    }


def _packed(content: str) -> str:
    # Without a time, so that the same runs give the same page.
    return base64.b64encode(gzip.compress(content.encode(), COMPRESSION, mtime=0)).decode()


@cache
def _plotly() -> tuple[str, str]:
    """Return the script that draws charts, and the same packed."""
    try:
        from plotly.offline import get_plotlyjs  # here, because it takes a while to import
    except ImportError:
        raise SettingsError(
            "Plotly, which draws the charts, is missing: pip install plotly"
        ) from None
    # A browser reads a line's end as one character, which is what the hash is taken of.
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
