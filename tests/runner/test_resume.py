"""A run that was interrupted and resumed is the run that was not, whatever it is made of."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import Federation, MadeLists
from flexcfl.experiment import toml
from flexcfl.experiment.objects import NO_OBJECTS, UserObjects
from flexcfl.runner.prepare import Prepared
from flexcfl.shifts import SHIFTS, SwapAll
from flexcfl.shifts.detection import DETECTORS, LabelShare
from tests.pairwise import pairwise
from tests.record.checkpoints.interrupted import (
    CLASSES,
    PICTURES,
    ROUNDS,
    SIDE,
    check_same,
    crashed,
    pictures,
    prepared,
    resumed,
    stopped,
    whole,
)

RELEASES = [{"round": number, "share": share} for number, share in ((0, 0.1), (2, 0.5), (4, 1))]
MOVING: dict[str, dict[str, Any]] = {name: {"shift__probability": 0.5} for name in SHIFTS}
MOVING["incremental"] = {"shift__schedule": RELEASES}
MIGRATING = {name for name in ALGORITHMS if ALGORITHMS[name].migrates}


def check_resumes(
    folder: Path, *rounds: int, own: UserObjects = PICTURES, **settings: Any
) -> Prepared:
    """Demand the same of a run without an interruption and of one that stops after ``rounds``."""
    ready = prepared(own=own, **settings)
    expected = whole(ready, folder / "whole")
    for number, last in enumerate(rounds):
        # Everything is made anew each time, as by another process.
        stopped(prepared(own=own, **settings), folder / "parts", last, again=number > 0)
    check_same(resumed(folder / "parts", own), expected)
    return ready


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm(algorithm: str, tmp_path: Path) -> None:
    check_resumes(tmp_path, 2, 4, algorithm=algorithm, shift="swap-all", shift__probability=0.3)


@pytest.mark.parametrize("shift", sorted(SHIFTS))
def test_every_shift(shift: str, tmp_path: Path) -> None:
    check_resumes(tmp_path, 3, shift=shift, **MOVING[shift])


@pytest.mark.parametrize("detector", sorted(DETECTORS))
def test_every_detector(detector: str, tmp_path: Path) -> None:
    check_resumes(tmp_path, 3, shift="swap-part", shift__probability=0.5, drift=detector)


@pytest.mark.parametrize(
    "own",
    [
        replace(PICTURES, shifts={"mine": SwapAll(probability=0.5)}),
        replace(PICTURES, detector=LabelShare(fraction=0.2)),
    ],
    ids=["shift", "detector"],
)
def test_custom_objects_with_options(own: UserObjects, tmp_path: Path) -> None:
    """The options are written down with the run, but are theirs when it goes on."""
    names = {"shift": "mine"} if own.shifts else {"drift": "mine", "shift": "swap-all"}
    check_resumes(tmp_path, 3, own=own, **names)


@pytest.mark.parametrize("shifts", [("incremental", "swap-all"), ("rotation", "gradual")])
def test_shifts_together(shifts: tuple[str, str], tmp_path: Path) -> None:
    settings = MOVING[shifts[0]] | MOVING[shifts[1]]
    check_resumes(tmp_path, 2, 3, shift=list(shifts), **settings)


@pytest.mark.slow
@pytest.mark.parametrize("shift", sorted(SHIFTS.keys() - {"swap-all"}))  # which they had above
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS.keys() - MIGRATING))
def test_every_algorithm_with_every_shift(algorithm: str, shift: str, tmp_path: Path) -> None:
    check_resumes(tmp_path, 1, 3, algorithm=algorithm, shift=shift, **MOVING[shift])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "detector", "shift"),
    pairwise(sorted(MIGRATING), sorted(DETECTORS), sorted(SHIFTS)),
)
def test_every_algorithm_with_every_shift_and_every_detector(
    algorithm: str, detector: str, shift: str, tmp_path: Path
) -> None:
    settings = {"algorithm": algorithm, "drift": detector, "shift": shift, **MOVING[shift]}
    check_resumes(tmp_path, 2, 4, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["flexcfl", "cfl", "flhc", "fesem-mig"])
def test_stopped_after_every_round(algorithm: str, tmp_path: Path) -> None:
    check_resumes(
        tmp_path,
        *range(1, ROUNDS),
        algorithm=algorithm,
        shift="recurring",
        shift__probability=0.5,
        data__arrivals=[{"round": 3, "share": 0.2}, {"round": 5, "share": 0.2}],
    )


@pytest.mark.parametrize("last", [1, 5])
@pytest.mark.parametrize("algorithm", ["cfl", "flhc"])
def test_clusters_that_are_found_before_or_after(algorithm: str, last: int, tmp_path: Path) -> None:
    run = check_resumes(tmp_path, last, algorithm=algorithm)
    groups = np.loadtxt(tmp_path / "parts" / "groups.csv", str, delimiter=",", skiprows=1)
    number = groups[:, 0].astype(int)
    counted = [np.count_nonzero(number == each) for each in (1, run.experiment.run.rounds)]
    assert counted[0] < counted[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"data__arrivals": [{"round": 2, "share": 0.2}, {"round": 4, "share": 0.2}]},
        {"run__evaluate_every": 4},
        {"run__evaluate_clients": 5},
        {"run__cohorts": "round-robin-then-uniform", "cohort": 3},
        {"run__cohorts": "uniform", "algorithm": "ifca"},
        {"groups": "auto", "algorithm__alpha": 2, "algorithm__most_groups": 4},
        {"algorithm__eta_g": 0.3},
        {"local__steps": 2},
        {"algorithm": "fedprox", "local__prox": 0.5},
        {"algorithm": "cfl", "algorithm__participation": "full"},
        {"model": "mlp"},
        {"seed": 2**63 - 1},
    ],
    ids=lambda settings: "-".join(f"{key}-{value}"[:25] for key, value in settings.items()),
)
def test_settings(settings: dict[str, Any], tmp_path: Path) -> None:
    check_resumes(tmp_path, 3, **settings)


@pytest.mark.parametrize("rounds", [1, 2])
def test_short_runs(rounds: int, tmp_path: Path) -> None:
    settings = {"rounds": rounds, "run__checkpoint_rounds": 1, "run__checkpoint_share": 1}
    check_crash(tmp_path, *range(1, rounds + 1), **settings)


@pytest.mark.slow
def test_a_convolutional_network_on_digits(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"model": "cnn", "rounds": 3, "data__clients": 12}
    check_resumes(tmp_path, 1, own=NO_OBJECTS, **settings)


def dropping() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(SIDE * SIDE, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, CLASSES)
    )


@pytest.mark.slow
def test_a_model_with_dropout(tmp_path: Path) -> None:
    check_resumes(tmp_path, 2, 5, own=UserObjects(federation=pictures(), factory=dropping))


@pytest.mark.slow
@pytest.mark.parametrize("shift", ["swap-all", "incremental"])
def test_clients_that_are_made_on_demand(shift: str, tmp_path: Path) -> None:
    one = pictures()

    def window(clients: Any) -> Any:
        return ((clients[:, np.newaxis] * 7 + np.arange(6)) % len(one.y)).ravel()

    lists = MadeLists.of(window, np.full(1000, 6), len(one.y))
    federation = Federation("made", one.x, one.y, lists, lists, CLASSES)
    settings = {"shift": shift, **MOVING[shift], "run__evaluate_clients": 20, "cohort": 100}
    check_resumes(tmp_path, 2, own=UserObjects(federation=federation), **settings)


@pytest.fixture
def more_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(before % 3 + 1)
    yield
    torch.set_num_threads(before)


def test_another_number_of_threads(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    settings: dict[str, Any] = {"shift": "swap-all", "shift__probability": 0.5, "cohort": 12}
    expected = whole(prepared(**settings), tmp_path / "whole")
    stopped(prepared(**settings), tmp_path / "parts", 3)
    request.getfixturevalue("more_threads")
    check_same(resumed(tmp_path / "parts"), expected)


def check_crash(folder: Path, *rounds: int, **settings: Any) -> None:
    """Demand the same of a run that is broken off without a word when ``rounds`` are written."""
    expected = whole(prepared(**settings), folder / "whole")
    for number, last in enumerate(rounds):
        crashed(prepared(**settings), folder / "parts", last, again=number > 0)
    check_same(resumed(folder / "parts"), expected)


@pytest.mark.slow
@pytest.mark.parametrize("every", [0, 1])
@pytest.mark.parametrize("rounds", [(1,), (2, 3), (4, 5, 6)])
def test_a_crash_after_any_round(rounds: tuple[int, ...], every: int, tmp_path: Path) -> None:
    check_crash(
        tmp_path,
        *rounds,
        algorithm="fesem-mig",
        shift="swap-all",
        shift__probability=0.5,
        run__checkpoint_rounds=every,
        run__checkpoint_share=1,
    )


@pytest.mark.parametrize("damage", ["removed", "cut", "flipped"])
def test_from_the_one_before_where_the_newest_is_spoiled(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: dict[str, Any] = {"shift": "swap-all", "shift__probability": 0.5}
    expected = whole(prepared(**settings), tmp_path / "whole")
    for last in (2, 4):
        stopped(prepared(**settings), tmp_path / "parts", last, again=last > 2)
    newest = tmp_path / "parts" / "checkpoints" / "round-4.json"
    text = newest.read_bytes()
    middle = len(text) // 2
    flipped = text[:middle] + bytes([text[middle] ^ 4]) + text[middle + 1 :]
    newest.write_bytes({"removed": b"", "cut": text[:middle], "flipped": flipped}[damage])
    check_same(resumed(tmp_path / "parts"), expected)
    assert f"'{newest}' cannot be used" in capsys.readouterr().err


def test_checkpoints_may_be_set_otherwise_on_the_way(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"shift": "swap-all", "shift__probability": 0.5}
    stopped(prepared(**settings), tmp_path / "parts", 2)
    file = tmp_path / "parts" / "experiment.toml"
    text = file.read_text()
    changed = text.replace("checkpoint_rounds = 10", "checkpoint_rounds = 1")
    changed = changed.replace("checkpoint_share = 0.02", "checkpoint_share = 1.0")
    file.write_text(changed.replace("checkpoint_seconds = 60.0", "checkpoint_seconds = 0"))
    assert toml.read(file)["run"]["checkpoint_rounds"] == 1
    resumed(tmp_path / "parts")
    whole(prepared(**settings), tmp_path / "whole")
    for name in ("rounds.csv", "groups.csv", "ledger.csv", "membership.csv", "clients.csv"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_nothing_is_left_of_checkpoints_in_the_end(tmp_path: Path) -> None:
    check_resumes(tmp_path, 2, 4, algorithm="fesem", run__checkpoint_rounds=1)
    assert not (tmp_path / "parts" / "checkpoints").exists()
    assert not (tmp_path / "parts" / ".lock").exists()
