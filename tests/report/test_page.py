"""The page: the same for the same runs, complete in itself, and closed to whatever names say."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from flexcfl.report.page import Report, html
from flexcfl.report.page.page import page_state
from tests.report.runs import copied, made

HOSTILE = "</script><script>alert(1)</script><b>&amp;'\""


class Seen(HTMLParser):
    """Collects the elements of a page: their names, attributes and the text within scripts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.text = ""
        self._within: dict[str, str] | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.tags.append((tag, known))
        if tag == "script":
            self._within = known
            self.scripts.append((known, ""))

    def handle_endtag(self, tag: str) -> None:
        self._within = None if tag == "script" else self._within

    def handle_data(self, data: str) -> None:
        if self._within is None:
            self.text += data
        else:
            self.scripts[-1] = (self._within, self.scripts[-1][1] + data)

    def script(self, name: str) -> str:
        return next(text for known, text in self.scripts if known.get("id") == name)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [made(tmp_path_factory, name) for name in ("fedavg", "flexcfl")]


@pytest.fixture(scope="session")
def page(folders: list[Path]) -> str:
    return html(Report.of(folders))


@pytest.fixture(scope="session")
def seen(page: str) -> Seen:
    return Seen(page)


def test_the_same_runs_give_the_same_page(folders: list[Path], page: str) -> None:
    assert html(Report.of(folders)) == page


def unpacked(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text))


def test_chapters_unpack_to_what_the_book_has(folders: list[Path], seen: Seen) -> None:
    report = Report.of(folders)
    for name in report.chapters():
        assert json.loads(unpacked(seen.script(f"chapter-{name}"))) == report.chapter(name)
    assert json.loads(seen.script("state")) == json.loads(
        json.dumps(page_state(report, live=False))
    )


def test_the_policy_allows_the_scripts_of_the_page_and_nothing_else(seen: Seen) -> None:
    policy = next(known["content"] for tag, known in seen.tags if "http-equiv" in known)
    running = [text for known, text in seen.scripts if "type" not in known]
    assert len(running) == 1
    expected = {
        base64.b64encode(hashlib.sha256(text).digest()).decode()
        for text in (running[0].encode(), unpacked(seen.script("plotly")))
    }
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == expected
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in re.findall(r"script-src [^;]+", policy)[0]


def test_a_live_page_may_ask_its_own_server(folders: list[Path]) -> None:
    live = Seen(html(Report.of(folders), live=True))
    policy = next(known["content"] for tag, known in live.tags if "http-equiv" in known)
    assert "connect-src 'self'" in policy
    assert not [known for known, _ in live.scripts if known.get("id", "").startswith("chapter")]


def test_nothing_is_loaded_from_elsewhere(seen: Seen, page: str) -> None:
    for tag, known in seen.tags:
        for name in ("src", "href", "action", "srcset", "poster", "data"):
            assert known.get(name, "#").startswith(("#", "data:image/svg+xml,")), (tag, known)
        assert not any(name.startswith("on") for name in known)
    (style,) = re.findall("<style>(.*?)</style>", page, re.S)
    assert not re.search(r"@import|url\(", style)


def test_the_parts_of_the_page_name_each_other(seen: Seen) -> None:
    named = [known["id"] for _, known in seen.tags if "id" in known]
    assert len(set(named)) == len(named)
    for _, known in seen.tags:
        for name in ("href", "aria-labelledby", "for"):
            if (word := known.get(name, "")) and not word.startswith("data:"):
                assert word.removeprefix("#") in named


@pytest.mark.parametrize("place", ["data", "model", "algorithm", "shift"])
@pytest.mark.parametrize("live", [False, True])
def test_names_are_text_whatever_they_say(
    place: str, live: bool, folders: list[Path], tmp_path: Path
) -> None:
    path = copied(folders[1], tmp_path)
    text = (path / "experiment.toml").read_text()
    name = {"data": "digits", "model": "mclr", "algorithm": "flexcfl", "shift": "swap-all"}[place]
    (path / "experiment.toml").write_text(text.replace(f'"{name}"', json.dumps(HOSTILE)))
    report = Report.of([path])
    plain, hostile = (Seen(html(each, live=live)) for each in (Report.of([folders[1]]), report))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert HOSTILE in hostile.text
    told: Any = json.loads(hostile.script("state"))
    assert told == json.loads(json.dumps(page_state(report, live=live)))
    Seen(told["words"] + told["commands"])
    assert "alert" not in "".join(known for _, each in hostile.tags for known in each)


def test_a_title_is_text_as_well(folders: list[Path]) -> None:
    seen = Seen(html(Report.of(folders), HOSTILE))
    assert f"{HOSTILE} \u2013 flexcfl" in seen.text
    assert len([tag for tag, _ in seen.tags if tag == "h1"]) == 1


def test_the_script_cannot_end_itself(seen: Seen) -> None:
    assert "</script" not in seen.scripts[-1][1].lower()
    assert seen.scripts[-1][1].endswith("})();\n")
