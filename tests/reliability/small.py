"""Runs that take a tenth of a second, and a comparison of two of them."""

import json
import shutil
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from flexcfl.cli import main

__all__ = [
    "FESEM",
    "FIRST",
    "FLEXCFL",
    "FOLDER",
    "KINDS",
    "ROUNDS",
    "Kind",
    "Output",
    "References",
    "begun",
    "copied",
    "differences",
    "resumed",
    "troubles",
    "words",
]

Kind: TypeAlias = tuple[str, str]  # an algorithm and a shift
References: TypeAlias = Mapping[Kind, Path]
Output: TypeAlias = pytest.CaptureFixture[str]

ROUNDS = 3  # enough to write and remove checkpoints as in all later rounds
FLEXCFL = ("flexcfl", "swap-all")
FESEM = ("fesem-mig", "swap-part")
KINDS = pytest.mark.parametrize("kind", [FLEXCFL, FESEM], ids=lambda kind: str(kind[0]))

FOLDER = Path("new", "run")  # of a run and its first checkpoint; nothing exists there before
FIRST = FOLDER / "checkpoints" / "round-0.json"

SUMMARY, TIMINGS = "summary.json", "timings.csv"


OPTIONS: Mapping[str, object] = {
    "dataset": "clusters",
    "rounds": ROUNDS,
    "cohort": 4,
    "epochs": 1,
    "data.clients": 8,
    "data.examples": 20,
    "data.features": 4,
    "shift.probability": 0.5,
    "algorithm.groups": 2,
    "run.checkpoint_rounds": 1,
    "run.checkpoint_share": 1,
}


def words(kind: Kind, out: Path, **others: object) -> list[str]:
    """Return the command of a small run in which clients' data shift, with other options.

    With a dot in its name it is a setting.
    """
    algorithm, shift = kind
    options = {"out": out, "algorithm": algorithm, "shift": shift, **OPTIONS, **others}
    pairs = (
        ("--set", f"{name}={value}") if "." in name else (f"--{name}", str(value))
        for name, value in options.items()
    )
    return ["run", "-q", *chain.from_iterable(pairs)]


def begun(kind: Kind, out: Path, **others: object) -> int:
    """Begin a run in this process and return the command's exit code."""
    return main(words(kind, out, **others))


def resumed(out: Path) -> int:
    """Resume a run in this process and return the command's exit code."""
    return main(["resume", "-q", str(out)])


def copied(folder: Path, place: Path) -> Path:
    """Copy a folder to a place that is emptied for it."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, symlinks=True)
    return place


def differences(folder: Path, reference: Path) -> list[str]:
    """Return the files that are not as in the run without interruption; seconds may differ."""
    ours, theirs = _files(folder), _files(reference)
    wrong = sorted(ours ^ theirs)
    for name in sorted(ours & theirs - {TIMINGS}):
        if _content(folder / name) != _content(reference / name):
            wrong.append(name)
    timed = [len((each / TIMINGS).read_bytes().splitlines()) for each in (folder, reference)]
    return wrong if timed[0] == timed[1] else [*wrong, TIMINGS]


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def _content(path: Path) -> Any:
    if path.is_dir():
        return None
    if path.name == SUMMARY:
        return {**json.loads(path.read_bytes()), "seconds": None}
    return path.read_bytes()


def troubles(folder: Path, reference: Path, may_be_lost: bool, output: Output) -> list[str]:
    """Resume a run and return what is wrong afterwards."""
    output.readouterr()
    code = resumed(folder)
    said = output.readouterr().err
    if code == 0:
        return differences(folder, reference)
    sentence = said.startswith("Error: ") and said.count("\n") == 1
    lost = ("There is no checkpoint in ", "is not the folder of a run", "never began")
    fine = may_be_lost and sentence and code == 2 and any(each in said for each in lost)
    return [] if fine else [f"{code}: {said}"]
