"""A page in a real browser: opened offline, and quiet unless a test says otherwise."""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests import waiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

__all__ = [
    "LOOKS",
    "PATIENCE",
    "Theme",
    "accessible",
    "choose",
    "downloaded",
    "opened",
    "rows",
    "until_drawn",
]

Theme: TypeAlias = Literal["light", "dark"]
LOOKS = Path(__file__).with_name("looks.js").read_text("utf-8").strip()  # asked of the page

PATIENCE = 1000 * waiting.PATIENCE  # milliseconds


@contextmanager
def opened(
    browser: "Browser",
    page: Path,
    *,
    width: int = 1440,
    theme: Theme = "light",
) -> Iterator["Page"]:
    """Open a file and wait for its charts; it must say nothing and ask for nothing else."""
    heard: list[str] = []
    asked: list[str] = []
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=theme,
        reduced_motion="reduce",
        offline=True,
        accept_downloads=True,
    )
    try:
        context.set_default_timeout(PATIENCE)
        made = context.new_page()
        made.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
        made.on("pageerror", lambda error: heard.append(f"error: {error}"))
        made.on("request", lambda request: asked.append(request.url))
        made.goto(page.as_uri())
        until_drawn(made)
        yield made
        assert heard == []
        own = page.as_uri()
        strange = [url for url in asked if url.partition("#")[0] != own]
        assert [url for url in strange if not url.startswith(("data:", "blob:"))] == []
    finally:
        context.close()


def until_drawn(page: "Page") -> None:
    """Wait until both sections are drawn."""
    page.wait_for_selector("html[data-overview=drawn][data-details=drawn]", state="attached")


def choose(page: "Page", label: str, option: str) -> None:
    """Choose a run or a setting, and wait until it is drawn."""
    page.get_by_label(label, exact=True).select_option(label=option)
    until_drawn(page)


def downloaded(page: "Page", label: str, title: str) -> tuple[str, str]:
    """Return the name and the content of what a chart's button lets one take along."""
    with page.expect_download() as download:
        # By a key: what is drawn meanwhile may move the button away from under a mouse.
        page.get_by_role("button", name=f"{label}: {title}", exact=True).press("Enter")
    content = Path(download.value.path()).read_text("utf-8")
    return download.value.suggested_filename, content


def rows(text: str) -> list[dict[str, str]]:
    """Return the lines of a table that was downloaded."""
    return list(csv.DictReader(io.StringIO(text)))


def accessible(locator: "Locator") -> str:
    """Return what a screen reader calls an element."""
    snapshot = locator.aria_snapshot().splitlines()[0]
    found = re.match(r"- '?\w+ \"(.*?)(?<!\\)\"", snapshot)
    return found[1] if found else ""
