"""The documentation hangs together: links lead somewhere, and every algorithm has its page."""

import re
from pathlib import Path

import pytest

from flexcfl.algorithms import ALGORITHMS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
    gone = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not gone


def test_the_readme_is_one_page() -> None:
    page = (ROOT / "README.md").read_text("utf-8")
    assert len(page) <= 6_000
    features = page.partition("## What it does")[2].partition("\n## ")[0]
    bullets = re.findall(r"^- (.+)$", re.sub(r"\(docs[^)]*\)|[*\[\]]", "", features), re.MULTILINE)
    assert len(bullets) == 7
    assert max(len(each.split()) for each in bullets) <= 15


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_has_a_page_with_its_command_and_results(name: str) -> None:
    page = (ROOT / "docs" / "algorithms" / f"{name}.md").read_text("utf-8")
    assert f"flexcfl run --algorithm {name}" in page
    assert re.search(r"## Measured\n+Accuracy", page)
    assert "<!--" not in re.sub(r"<!-- (measured: .+?|end of measured) -->", "", page)
