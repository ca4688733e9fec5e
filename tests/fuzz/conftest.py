"""A folder and a limit of time for every parser that is given strangers' bytes."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from fuzz.harness import Target, alarmed, judged
from fuzz.targets import TARGETS

Judge: TypeAlias = Callable[..., str | None]


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """Return a function that lets a target read bytes and returns its sentence, if it has one."""
    folder = tmp_path_factory.mktemp("fuzz")

    def given(name: str, content: bytes, target: Target | None = None) -> str | None:
        place = folder / name
        place.mkdir(exist_ok=True)
        with alarmed():
            return judged(target or TARGETS[name], place, content)

    for name, target in TARGETS.items():  # one-time imports and caches are not the parser's
        for seed in target.seeds:
            given(name, seed)
    return given


@pytest.fixture
def refused(judge: Judge) -> Callable[[str, bytes], str]:
    """Return a function that demands that bytes are refused, and returns the sentence."""

    def given(name: str, content: bytes) -> str:
        sentence = judge(name, content)
        assert sentence is not None
        return sentence

    return given


@pytest.fixture(autouse=True)
def no_files_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep what this machine happens to have out of the tests."""
    monkeypatch.delenv("FLEXCFL_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)
