"""The benchmarks behind docs/reliability.md and robustness.md, on federations that are small."""

from dataclasses import dataclass
from pathlib import Path

import common
import dropout
import founders
import numpy as np
import pytest
import reliability
from reliability_rows import TABLES, command, sets
from reliability_tables import cost, difference

import flexcfl

SMALL = {"data.name": "clusters", "run.rounds": 12, "run.cohort": 30}


@dataclass(frozen=True)
class Line:
    """A run with a figure that may be missing."""

    name: str
    figure: float
    other: float | None = None


def test_runs_are_kept_in_full(tmp_path: Path) -> None:
    runs = [Line("a, b", 0.1 + 0.2), Line("", 1 / 3, 1e-17)]
    common.write(tmp_path / "runs.csv", Line, runs[:1])
    assert common.read(tmp_path / "runs.csv", Line) == runs[:1]
    assert common.read(tmp_path / "none.csv", Line) == []


def test_a_difference_has_the_interval_of_students_t() -> None:
    assert difference([0.01, 0.02, 0.03]) == "+2.0 (-0.5 to +4.5)"  # 2 +- 4.3027 * 1 / sqrt(3)
    assert cost([0.01, 0.02, 0.03]) == "-2.0 points (-4.5 to 0.5)"
    assert difference([0.0, 0.0]) == "0.0 (0.0 to 0.0)"


def test_who_misses_everything_is_away_as_the_library_has_it() -> None:
    ours = dropout.run("away from everything", 3, SMALL)
    settings = {"faults.dropout": 0.3, **SMALL}
    theirs = flexcfl.run(algorithm="flexcfl", shift="swap-all", seed=3, set=settings)
    accuracy = theirs.summary["accuracy"]
    assert (ours.best, ours.final) == (accuracy["best"], accuracy["final"])
    assert ours.final is not None
    assert ours.outdated > 0 == ours.outdated_there


def test_who_misses_nothing_is_not_away_and_never_outdated() -> None:
    ours = dropout.run(dropout.NOBODY, 3, SMALL)
    assert (ours.outdated, ours.right) == (0, None)
    assert ours.current == pytest.approx(ours.final, rel=1e-3)  # over tests, and over rounds


def test_a_cosine_is_that_up_to_which_an_update_is_admitted() -> None:
    updates = np.repeat(np.eye(2, 3, dtype=np.float32), [4, 1], axis=0)
    assert founders.cosines(updates).tolist() == [*[pytest.approx(0.99, abs=0.02)] * 4, 0]


def test_rows_that_are_in_the_file_are_not_run_again() -> None:
    settings = TABLES["failing"].rows["10 % send NaN"]
    runs = [
        reliability.Done("failing", "10 % send NaN", seed, 0.9, 0.9, settings=sets(settings))
        for seed in range(TABLES["failing"].seeds)
    ]
    rows = [(name, row) for name, row, _ in reliability.missing(runs, "")]
    assert len(rows) == sum(len(table.rows) for table in TABLES.values()) - 1
    assert ("failing", "10 % send NaN") not in rows
    assert not list(reliability.missing(runs, "send NaN"))


def test_a_row_says_its_whole_command() -> None:
    given = TABLES["private"].rows["noise for each group, noise 2"]
    assert command(6, given) == (
        "flexcfl compare flexcfl --dataset mnist --shift swap-all --seeds 6"
        " --set privacy.level=group --set privacy.clip=0.3 --set privacy.noise=2"
        " --set run.cohort=1000 --set run.rounds=50"
    )
