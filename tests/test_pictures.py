"""Pictures of the documentation: made by a script, shown on a page, small enough to load."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools import pictures

MOST = 200_000  # bytes
PAGES = [page.read_text("utf-8") for page in pictures.DOCS.rglob("*.md")]


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_is_there_shown_and_small(name: str) -> None:
    path = pictures.IMAGES / f"{name}.svg"
    assert path.stat().st_size < MOST
    assert any(f"images/{name}.svg)" in page for page in PAGES)


def test_a_picture_is_drawn_with_its_title_on_paper_of_its_own(tmp_path: Path) -> None:
    pictures.main(["--only", "protocol", "--out", str(tmp_path)])
    drawn = ElementTree.parse(tmp_path / "protocol.svg").getroot()
    titles = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [pictures.PICTURES["protocol"].title]
    first = next(drawn.iter("{http://www.w3.org/2000/svg}path"))
    assert first.get("style") == "fill: #ffffff"  # so that it can be read on a dark page


def test_an_unknown_picture_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        pictures.main(["--only", "clusterings"])
    assert "there is no picture clusterings" in capsys.readouterr().err


def test_names_keep_apart() -> None:
    heights = pictures.apart({"low": 1.0, "high": 1.5, "far": 9.0}, gap=2.0)
    assert heights == {"low": 1.0, "high": 3.0, "far": 9.0}
