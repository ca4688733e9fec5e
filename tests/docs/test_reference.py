"""The pages that are made from code and results say what these say now."""

import re
from pathlib import Path

import pytest

from tools.reference import PAGES

AGAIN = "Make it again: python -m tools.reference"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_what_would_be_made_now(path: Path) -> None:
    assert path.read_text("utf-8") == PAGES[path](), AGAIN


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_says_what_of_it_is_made(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "`python -m tools.reference`" in text or "<!-- measured: " in text


def test_every_table_of_an_experiment_has_a_section() -> None:
    from dataclasses import fields

    from flexcfl.experiment.experiment import Experiment

    page = next(text for path, text in PAGES.items() if path.name == "settings.md")()
    sections = re.findall(r"^## \[(\w+)\]$", page, re.MULTILINE)
    assert sorted(sections) == sorted(item.name for item in fields(Experiment))
