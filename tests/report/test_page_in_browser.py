"""The page as somebody meets it: in a real browser, offline, by eye, by ear and by keyboard."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flexcfl.report.page import Report
from flexcfl.report.page.page import write_page
from tests.report.browsing import LOOKS, accessible, choose, downloaded, opened, rows
from tests.report.folders import construct

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

MARKS = ".plot .js-line, .plot .js-fill, .plot .point, .plot image"
HOSTILE = (
    "<script>alert(1)</script>",
    "<b>bold</b>",
    "&amp;",
    "\"double\" and 'single'",
    "a, b",
    "Ünïcødé 群 🙂",
    "very-long-" * 12,
)


@pytest.fixture
def page(shared: "Page") -> "Page":
    """Return the page as if it had just been opened: light, at its top, with nothing chosen."""
    if shared.locator("html").get_attribute("data-theme") == "dark":
        shared.get_by_role("button", name="Dark theme").click()
    shared.mouse.move(0, 0)
    shared.wait_for_selector(".notifier-note", state="detached")  # Plotly's advice on zooming
    shared.evaluate(f"{LOOKS}.unfocus()")
    return shared


def test_every_chart_that_was_made_is_drawn(page: "Page", runs: Path) -> None:
    report = Report.of([runs])
    first = next(place for place, run in enumerate(report.settings[0].runs) if run.group_count > 1)
    for place, chapter in (("overview", "0"), ("details", f"0-{first}")):
        wanted = [f"chart-{chart['name']}" for chart in report.chapter(chapter)]
        figures = page.locator(f"#{place} figure")
        assert figures.evaluate_all("all => all.map((each) => each.id)") == wanted
        marks = figures.evaluate_all(
            f"all => all.map((each) => each.querySelectorAll('{MARKS}').length)"
        )
        assert all(marks), dict(zip(wanted, marks, strict=True))


def test_keys_alone_reach_everything_that_can_be_done(page: "Page") -> None:
    reached: list[str] = []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    while (words := page.evaluate(f"{LOOKS}.focused()")) and len(reached) < 200:
        reached.append(words)
        page.keyboard.press("Tab")
    all_of_it = page.evaluate(f"{LOOKS}.reachable()")
    kinds = Counter(words.split()[0] for words in reached)
    assert sum(kinds[kind] for kind in ("A", "BUTTON", "INPUT", "SELECT", "SUMMARY")) >= all_of_it
    assert {"BUTTON theme", "SELECT run", "INPUT client"} <= set(reached)
    assert kinds["A"] == 1 + 5
    assert kinds["INPUT"] == 3 + 1
    assert kinds["BUTTON"] == 1 + 3 * (4 + 7)


def test_space_takes_a_method_out_of_all_charts_and_back(page: "Page") -> None:
    def lines() -> list[int]:
        found: list[int] = page.locator("#overview figure").evaluate_all(
            "all => all.map((each) => each.querySelectorAll('.scatterlayer .trace').length)"
        )
        return found

    before = lines()
    page.get_by_role("checkbox", name="ifca").focus()
    page.keyboard.press("Space")
    page.wait_for_timeout(200)
    bands = [2, 1, 2, 2]  # of the accuracy against traffic there is no band
    assert lines() == [number - fewer for number, fewer in zip(before, bands, strict=True)]
    page.keyboard.press("Space")
    page.wait_for_timeout(200)
    assert lines() == before
    assert page.get_by_role("checkbox", name="ifca").is_checked()


def test_enter_changes_the_theme_and_says_so(page: "Page") -> None:
    button = page.get_by_role("button", name="Dark theme")
    strokes = "all => all.map((each) => getComputedStyle(each).stroke)"
    lines = page.locator("#chart-traffic .js-line")
    light = lines.evaluate_all(strokes)
    assert button.get_attribute("aria-pressed") == "false"
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert button.get_attribute("aria-pressed") == "true"
    page.wait_for_timeout(300)
    assert not set(light) & set(lines.evaluate_all(strokes))


def test_everything_has_a_name_of_its_own(page: "Page") -> None:
    kinds = ("button", "a", "select", "input", "fieldset", "[role=group]", "[role=img]", "section")
    for kind in kinds:
        names = [accessible(each) for each in page.locator(f"{kind}:visible").all()]
        assert names, kind
        assert all(names), (kind, names)
        assert len(set(names)) == len(names), (kind, Counter(names))
    charts = {accessible(each) for each in page.locator("[role=img]").all()}
    assert len(charts) == 4 + 7
    assert any(
        name.startswith("Accuracy over rounds. Final accuracy, the mean of") for name in charts
    )
    assert all(". " in name for name in charts)
    titles = page.get_by_role("heading").all_inner_texts()
    assert {"What was run", "Results", "Methods over rounds", "Groups of a run"} <= set(titles)


def test_the_whole_view_comes_back_after_a_closer_look(page: "Page") -> None:
    figure = page.locator("#chart-accuracy")

    def ticks() -> list[str]:
        return sorted(figure.locator(".xtick text, .ytick text").all_text_contents())

    figure.scroll_into_view_if_needed()
    whole = ticks()
    box = figure.locator(".nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=5)
    page.mouse.up()
    page.wait_for_timeout(500)
    close = ticks()
    assert close != whole
    page.get_by_role("button", name="Dark theme").click()
    page.wait_for_timeout(300)
    assert ticks() == close  # only the colours are others
    page.get_by_role("button", name="Whole view: Accuracy over rounds").click()
    page.wait_for_timeout(500)
    assert ticks() == whole


def test_another_run_and_another_setting_are_drawn_when_chosen(
    browser: "Browser", tmp_path: Path
) -> None:
    construct(tmp_path / "a", clients=11, groups=2)
    construct(tmp_path / "b", clients=11, groups=1, method="fedavg")
    construct(tmp_path / "c", dataset="other", clients=13, groups=4)
    write_page([tmp_path], tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        text = page.locator("#chart-labels figcaption p")
        assert "11 clients" in text.inner_text()
        assert page.locator("#chart-flows").count() == 1
        choose(page, "Run", "fedavg, seed 0")
        assert page.locator("#chart-flows").count() == 0
        choose(page, "Setting", "other, mclr, swap-all, 6 rounds")
        assert "13 clients" in text.inner_text()
        assert page.get_by_role("checkbox").count() == 1
        assert page.locator("#run option").all_text_contents() == ["flexcfl, seed 0"]
        choose(page, "Setting", "digits, mclr, swap-all, 6 rounds")
        assert "11 clients" in text.inner_text()


@pytest.mark.slow
def test_names_are_text_whatever_they_are(browser: "Browser", tmp_path: Path) -> None:
    for place, name in enumerate(HOSTILE):
        more = HOSTILE[place:] + HOSTILE[:place]
        construct(
            tmp_path / str(place),
            method=name,
            dataset=HOSTILE[0],
            model=more[1],
            names=more,
            clients=7,
        )
    write_page([tmp_path], tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html", width=390) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.locator("main b, main script").count() == 0
        for setting in page.locator("#setting option").all_text_contents():
            choose(page, "Setting", setting)
            method = page.locator("#methods label").inner_text()
            assert method in HOSTILE
            assert setting.startswith(f"{HOSTILE[0]}, ")
            _, text = downloaded(page, "Data (CSV)", "Accuracy over rounds")
            assert {line["method"] for line in rows(text)} == {method}
            _, text = downloaded(page, "Data (CSV)", "Group of each client by round")
            names = HOSTILE[(first := HOSTILE.index(method)) :] + HOSTILE[:first]
            assert {line["client"] for line in rows(text)} == {
                f"{client} ({name})" for client, name in enumerate(names)
            }
            page.get_by_label("Follow a client").fill("3")
            told = page.locator(".follow output").inner_text()
            assert told.startswith(f"Client 3 ({names[3]}): group ")
        assert page.title().startswith("7 methods on <script>alert(1)</script>")


@pytest.mark.slow
def test_a_thousand_clients_over_300_rounds_make_a_page_of_less_than_10_megabytes(
    browser: "Browser", tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    for seed in range(2):
        construct(tmp_path / str(seed), seed=seed, clients=1000, rounds=300, groups=8, moving=0.05)
    out = tmp_path / "report.html"
    write_page([tmp_path], out)
    assert out.stat().st_size < 10e6
    start = time.perf_counter()
    with opened(browser, out) as page:
        record_property("seconds until drawn", time.perf_counter() - start)
        assert "1,000 clients" in page.locator("#chart-moves figcaption p").inner_text()
        page.get_by_label("Follow a client").fill("999")
        assert page.locator(".follow output").inner_text().startswith("Client 999: group ")
