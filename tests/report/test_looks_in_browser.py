"""How the page looks in a real browser: contrast, room and pictures, in both themes."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from flexcfl.report.page.page import write_page
from tests.report.browsing import LOOKS, Theme, choose, opened
from tests.report.colours import PAPER, contrast
from tests.report.folders import construct

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with several settings: many methods, many groups, one round, no figures."""
    folder = tmp_path_factory.mktemp("odd")
    for number in range(12):
        construct(
            folder / "a" / f"{number:02}", method=f"method-{number} (of a long name, {'x' * 40})"
        )
    construct(folder / "b", dataset="groups", groups=14, clients=60, rounds=8)
    construct(folder / "c", dataset="crowd", groups=60, clients=120, rounds=8)
    construct(folder / "d", dataset="one", rounds=1)
    construct(folder / "e", dataset="unmeasured", measured=False)
    write_page([folder], folder / "report.html")
    return folder / "report.html"


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (1440, "light")])
def test_the_page_fits_its_window_and_texts_keep_apart_and_stand_out(
    browser: "Browser", report: Path, tmp_path: Path, width: int, theme: Theme
) -> None:
    with opened(browser, report, width=width, theme=theme) as page:
        _check_picture(page, width, tmp_path / f"{width}-{theme}.png")
        card = page.locator("figure").first.evaluate(
            "each => getComputedStyle(each).backgroundColor"
        )
        assert [int(part) for part in card[4:-1].split(",")] == [
            int(PAPER[theme][place : place + 2], 16) for place in (1, 3, 5)
        ]
        _check_contrast(page)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_odd_runs_fit_as_well(browser: "Browser", odd: Path, tmp_path: Path, width: int) -> None:
    with opened(browser, odd, width=width) as page:
        names = page.locator("#setting option").all_text_contents()
        assert [name.partition(",")[0] for name in names] == [
            *("groups", "crowd", "one", "unmeasured", "digits"),
        ]
        assert names[2].endswith(", 1 round")
        for place, name in enumerate(names):
            choose(page, "Setting", name)
            _check_picture(page, width, tmp_path / f"{place}.png")


def _check_picture(page: "Page", width: int, path: Path) -> None:
    assert page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [width, width]
    assert page.evaluate(f"{LOOKS}.overlaps()") == []
    page.screenshot(path=path, full_page=True)
    with Image.open(path) as picture:
        assert picture.width == width
        colours = picture.convert("RGB").getcolors(2**24)
    assert colours is not None
    assert len(colours) > 100


def _check_contrast(page: "Page") -> None:
    page.locator("summary").first.click()
    texts = page.evaluate(f"{LOOKS}.texts()")
    assert len(texts) > 200
    needed = {True: 3, False: 4.5}
    weak = [
        (each["text"], round(ratio, 2))
        for each in texts
        if (ratio := contrast(each["colour"], each["under"])) < needed[each["large"]]
    ]
    assert weak == []
