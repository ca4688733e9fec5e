"""The citation can be read, and is that of this version."""

import re
import tomllib
from typing import Any

import pytest

import flexcfl
from tests.docs.conftest import ROOT


@pytest.fixture
def citation() -> Any:
    yaml: Any = pytest.importorskip("yaml", reason="needs flexcfl[docs]")
    return yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_it_has_what_the_format_asks_for(citation: Any) -> None:
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert citation["type"] == "software"
    for work in (citation, *citation["references"]):
        for author in work["authors"]:
            assert {"name"} == set(author) or {"given-names", "family-names"} == set(author)


def test_it_agrees_with_the_package(citation: Any) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert citation["version"] == flexcfl.__version__
    assert (citation["title"], citation["license"]) == (project["name"], project["license"])
    assert citation["abstract"] == project["description"]
    assert citation["keywords"] == project["keywords"]


def test_it_refers_to_the_paper(citation: Any) -> None:
    (paper,) = citation["references"]
    assert paper["title"] in " ".join(
        (ROOT / "README.md").read_text("utf-8").replace("*", "").split()
    )
    assert paper["authors"][0]["family-names"] == "Duan"
    assert re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}", paper["url"])
