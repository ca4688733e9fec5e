"""The site is built without a warning, is complete, and fetches nothing from elsewhere."""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

import flexcfl
from tests.docs.conftest import ROOT
from tests.waiting import PATIENCE
from tools.docstrings import as_markdown
from tools.site import LINK, brought, in_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1440, "light"), (390, "dark"))
PAGES = [path.read_text("utf-8") for path in sorted((ROOT / "docs" / "api").glob("*.md"))]
PARTS = {part for page in PAGES for part in re.findall(r"^::: flexcfl\.(\w+)$", page, re.MULTILINE)}


def test_every_page_and_picture_is_in_the_site(site: Path) -> None:
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    for path in [*pages, *(each for each in brought() if each.endswith(".md"))]:
        there = re.sub(r"(^|/)(README|index)$", "", in_site(path).removesuffix(".md"))
        assert (site / there / "index.html").is_file(), path
    assert (site / "results" / "figure-shift.svg").is_file()
    assert (site / "examples" / "comparison.html").stat().st_size > 10**6


def test_nothing_in_the_site_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.parent.name != "examples":  # which is a separate page, with separate tests
            fetched = re.findall(
                r"<(?:script|img|link)\b[^>]*?(?:src|href)=\"?(https?:[^\s\">]*)",
                page.read_text("utf-8"),
            )
            assert not fetched, page


@pytest.mark.parametrize("part", ["", *sorted(PARTS & {*flexcfl.PARTS})])
def test_every_public_name_is_in_the_reference(site: Path, part: str) -> None:
    module: Any = importlib.import_module(f"flexcfl.{part}".rstrip("."))
    pages = "".join(page.read_text("utf-8") for page in (site / "api").rglob("*.html"))
    documented = set(re.findall(r'id="(flexcfl\.[\w.]+)"', pages))
    for name in module.__all__:
        own = f"{module.__name__}.{name}"
        # A function with the name of its file, such as data.leaf, is found by its place there.
        alone = getattr(getattr(module, name), "__module__", "") + f".{name}"
        assert {own, alone, f"{module.__name__}.catalogue.{name}"} & documented, own


def test_links_out_of_docs_are_turned_and_those_to_the_source_keep_their_words(site: Path) -> None:
    page = (site / "replication" / "index.html").read_text("utf-8")
    assert 'href="../results/table3/"' in page
    page = (site / "algorithms" / "ifca" / "index.html").read_text("utf-8")
    assert "<code>algorithms/ifca.py</code>" in page
    assert '.py"' not in page


def test_links_are_distinguished_from_code() -> None:
    found = LINK.search("see [`detection/`](../src/flexcfl/shifts/detection#x), and")
    assert found
    assert found.groupdict() == {
        "picture": "",
        "words": "`detection/`",
        "target": "../src/flexcfl/shifts/detection",
        "anchor": "#x",
    }


def test_sessions_of_docstrings_become_code_and_formulas_stay_as_they_are() -> None:
    text = "A :math:`x^2`.\n\n>>> 1 + 1\n2\n\nMore.\n\nExample:\n    >>> 2\n    2"
    shown = "A `x^2`.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\nExamples:\n    >>> 2\n    2"
    assert as_markdown(text) == shown


@dataclass
class Window:
    """A window, which keeps what all pages need, and what its pages say and ask for."""

    page: "Page"
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda said: self.heard.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.heard.append(f"error: {error}"))
        self.page.on("request", lambda request: self.heard.append(request.url))


@pytest.fixture(scope="module")
def window(browser: "Browser") -> Iterator[Window]:
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
    yield Window(context.new_page())
    context.close()


def show(page: "Page", width: int, theme: Literal["light", "dark"]) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)


@contextmanager
def opened(window: Window, served: str, page: str) -> Iterator["Page"]:
    """Open a page, which must log nothing and fetch nothing from elsewhere."""
    window.page.goto("about:blank")
    show(window.page, *LOOKS[0])
    window.heard.clear()
    window.page.goto(f"{served}{page}", wait_until="networkidle")
    yield window.page
    assert f"{served}{page}" in window.heard
    assert [each for each in window.heard if not each.startswith(served)] == []


@pytest.mark.parametrize("page", ["", "api/data/", "commands/", "algorithms/"])
def test_a_page_opens_quietly_and_fits_the_screen(window: Window, served: str, page: str) -> None:
    with opened(window, served, page) as shown:
        for width, theme in LOOKS:
            show(shown, width, theme)
            assert shown.locator("article h1").first.is_visible()
            assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_search_finds_a_name_of_the_reference(window: Window, served: str) -> None:
    # By a query in the address: text typed before the page is ready would be lost.
    with opened(window, served, "?q=MadeLists") as shown:
        found = shown.locator(".md-search-result__link").first
        found.wait_for(state="attached")
        assert "/api/data/" in (found.get_attribute("href") or "")
