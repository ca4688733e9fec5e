"""Folders that an earlier version left: finished ones are read, interrupted ones go on."""

import csv
import io
import shutil
from pathlib import Path

import pytest

import flexcfl
from flexcfl.record.reading import read
from flexcfl.report.history import details

BEFORE = Path(__file__).with_name("before")
ALGORITHMS = ("flexcfl", "ifca-mig")


def rounds(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "rounds.csv").read_text())))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_finished_run_is_read(algorithm: str) -> None:
    folder = BEFORE / f"finished-{algorithm}"
    run, told, page = flexcfl.load(folder), details(folder), read(folder)
    assert [f"{value!r}" for value in run.rounds["accuracy"].tolist()] == [
        line["accuracy"] or "nan" for line in rounds(folder)
    ]
    assert told.row.figures["final"] == run.accuracy.final
    assert page.done == len(rounds(folder)) == 6
    assert run.model(1)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_interrupted_run_goes_on(algorithm: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(BEFORE / f"interrupted-{algorithm}", folder)
    before = rounds(folder)
    run = flexcfl.resume(folder)
    after, whole_run = rounds(folder), rounds(BEFORE / f"finished-{algorithm}")
    assert after[:2] == before[:2]  # the checkpoint is of round 2
    assert len(after) == len(whole_run) == 6
    losses = [[float(line["loss"]) for line in each] for each in (after, whole_run)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)  # processors round differently
    assert [line["shifted"] for line in after] == [line["shifted"] for line in whole_run]
    assert run.summary["rounds"] == 6
