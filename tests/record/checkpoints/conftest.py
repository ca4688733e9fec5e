"""Runs that were stopped on the way, and a check of what happens when they are changed."""

import re
import shutil
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from flexcfl.errors import FlexcflError
from fuzz.harness import alarmed
from tests.record.checkpoints.hostile import NEWEST
from tests.record.checkpoints.interrupted import prepared, resumed, stopped
from tests.waiting import PATIENCE

Stopped: TypeAlias = Callable[[str], Path]
Resume: TypeAlias = Callable[[Path], str | None]

MUCH = 2**26  # bytes, many times the need of such a small run
OFTEN = {"shift__probability": 0.5}
RUNS: Mapping[str, dict[str, Any]] = {
    "flexcfl": {"shift": ["swap-all", "label-permutation", "rotation", "gradual"], **OFTEN},
    "ifca-mig": {"shift": "incremental", "drift": "mmd"},
    "fesem-mig": {"shift": "recurring", **OFTEN},
    "flhc": {"algorithm__rounds_before": 2},
    "cfl": {},
}


@pytest.fixture(scope="session")
def stopped_run(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """Return a function that gives a fresh copy of a run that was stopped, by its algorithm."""
    folder = tmp_path_factory.mktemp("stopped")

    def given(name: str) -> Path:
        if not (folder / name).exists():
            stopped(prepared(name, **RUNS[name]), folder / name, NEWEST)
        shutil.rmtree(folder / "copy", ignore_errors=True)
        shutil.copytree(folder / name, folder / "copy")
        return folder / "copy"

    return given


@pytest.fixture(scope="session")
def resume() -> Resume:
    """Return a function that resumes a run and returns its sentence, or None if it comes to an end.

    Whatever else happens is an error: another exception, a hang, much memory.
    """

    def given(path: Path) -> str | None:
        with _little_memory():
            return _sentence(path)

    return given


@pytest.fixture(scope="session")
def resume_in_any_memory() -> Resume:
    """Return the same function without the memory watch, which takes twice the time."""
    return _sentence


def _sentence(path: Path) -> str | None:
    with alarmed(PATIENCE):
        try:
            resumed(path)
        except FlexcflError as error:
            sentence = str(error)
        else:
            return None
    assert len(sentence.splitlines()) == 1
    assert sentence.isprintable()
    # A command to copy has no full stop.
    assert sentence.endswith(".") or re.search(r": flexcfl (run|resume) \S+$", sentence)
    return sentence


@contextmanager
def _little_memory() -> Iterator[None]:
    tracemalloc.start(1)
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MUCH
    finally:
        tracemalloc.stop()
