"""Extensions, named by their import path or announced by a package."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flexcfl.aggregation import RULES
from flexcfl.algorithms import ALGORITHMS
from flexcfl.cli import main
from flexcfl.data import DATASETS, PARTITIONS, load_federation
from flexcfl.errors import DataError, SettingsError
from flexcfl.extensions import Registry, installed_entry_points, summary_of
from flexcfl.shifts import SHIFTS
from flexcfl.shifts.detection import DETECTORS
from flexcfl.trust.faults import ATTACKS

REGISTRIES: dict[str, Registry[Any]] = {
    each.noun: each
    for each in (ALGORITHMS, DETECTORS, SHIFTS, PARTITIONS, RULES, ATTACKS, DATASETS)
}
SOURCE = '''
"""Things of somebody's own."""

import dataclasses

import numpy as np

from flexcfl.aggregation import Median
from flexcfl.algorithms import AlgorithmEntry, FedAvg
from flexcfl.data import Federation, Iid
from flexcfl.shifts.detection import LabelShare
from flexcfl.trust.faults import SignFlip
from flexcfl.shifts import SwapAll

entry = AlgorithmEntry("just FedAvg", lambda options, local: FedAvg(local), cohorts="uniform")


@dataclasses.dataclass(frozen=True)
class Detector(LabelShare):
    """A detector.

    With more to say.
    """


class Shift(SwapAll):
    """A shift."""


class Partition(Iid):
    """A partition."""


class Rule(Median):
    """A rule."""


class Attack(SignFlip):
    """An attack."""


class Plain:
    """No dataclass."""

    def lists(self, labels, clients, rng):
        return []


def dataset():
    """A dataset."""
    x, y = np.zeros((8, 3)), np.arange(8) % 2
    return Federation("own", x, y, [range(4), range(4, 8)], [[0], [4]], 2)


def fails():
    raise RuntimeError("no data today")


def returns_nothing():
    pass


number = 7
'''
NAMES = {
    "algorithm": "entry",
    "detector": "Detector",
    "shift": "Shift",
    "partition": "Partition",
    "rule": "Rule",
    "attack": "Attack",
    "dataset": "dataset",
}
MODULE = "flexcfl_test_things"


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    (tmp_path / "flexcfl_test_broken.py").write_text("raise ImportError('half')\n")
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop(MODULE, None)


@pytest.fixture
def _installed(_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lay_package(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    installed_entry_points.cache_clear()
    yield
    installed_entry_points.cache_clear()


def lay_package(folder: Path) -> None:
    """Lay what pip leaves of a package that announces something of each kind."""
    info = folder / "somebodys-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1.0\n")
    groups = [
        f"[flexcfl.{noun}s]\ntheirs = {MODULE}:{name}\nbroken = flexcfl_test_broken:x\n"
        for noun, name in NAMES.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("noun", NAMES)
def test_a_custom_entry_is_found_by_its_import_path(noun: str) -> None:
    name, registry = f"{MODULE}:{NAMES[noun]}", REGISTRIES[noun]
    assert name in registry
    assert registry[name] == registry[name] or noun == "dataset"
    assert name not in set(registry)  # only what has a registered name is listed


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize("noun", NAMES)
def test_one_of_an_installed_package_is_found_and_listed(noun: str) -> None:
    registry = REGISTRIES[noun]
    assert "theirs" in registry
    assert list(registry) == [*registry.ours, "broken", "theirs"]
    assert len(registry) == len(list(registry))
    with pytest.raises(SettingsError, match=r"'broken' of the package 'somebodys' could not be im"):
        registry["broken"]
    with pytest.raises(KeyError):
        registry["nobodys"]


@pytest.mark.usefixtures("_installed")
def test_ours_are_found_whatever_is_installed() -> None:
    assert ALGORITHMS["fedavg"] is ALGORITHMS.ours["fedavg"]
    assert main(["run", "--algorithm", "fedavg", "--rounds", "1", "--out", "ours", "--quiet"]) == 0


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("noun", "name", "sentence"),
    [
        (
            "algorithm",
            "number",
            "must be a flexcfl.algorithms.AlgorithmEntry, which says how to make it",
        ),
        (
            "detector",
            "number",
            "must be a class with profiles and drifted, such as flexcfl.shifts.detection",
        ),
        ("detector", "entry", "must be a class with profiles and drifted"),
        ("shift", "Detector", "must be a class with check and apply and variants"),
        ("partition", "Plain", "must be a dataclass, whose fields are its options: put @dataclass"),
        ("rule", "dataset", "must be a class with __call__"),
        ("attack", "Detector", "must be a class with poisons and number and altered"),
        ("dataset", "number", "must be a function without arguments that returns a flexcfl.data."),
        ("dataset", "absent", f"There is no 'absent' in '{MODULE}': correct the dataset"),
    ],
)
def test_what_is_none_is_one_sentence(noun: str, name: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        REGISTRIES[noun][f"{MODULE}:{name}"]
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("_here")
def test_a_function_that_makes_data_is_a_dataset() -> None:
    federation = load_federation(f"{MODULE}:dataset")
    assert (federation.name, federation.clients) == ("own", 2)
    with pytest.raises(DataError, match=r"'fails', which makes the dataset, failed \(RuntimeErr"):
        load_federation(f"{MODULE}:fails")
    with pytest.raises(DataError, match="returned NoneType: let it return a flexcfl"):
        load_federation(f"{MODULE}:returns_nothing")


@pytest.mark.usefixtures("_here")
def test_a_run_on_a_custom_dataset_by_its_name(tmp_path: Path) -> None:
    words = ["run", "--dataset", f"{MODULE}:dataset", "--algorithm", "fedavg", "--cohort", "2"]
    assert main([*words, "--rounds", "2", "--out", "one", "--quiet"]) == 0
    assert main(["run", "one/experiment.toml", "--out", "two", "--quiet"]) == 0
    one, two = ((tmp_path / name / "rounds.csv").read_bytes() for name in ("one", "two"))
    assert one == two


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--algorithm", "absent:entry"], "The algorithm 'absent:entry' could not be imported"),
        (["--drift", f"{MODULE}:number"], f"The detector '{MODULE}:number' must be a class"),
        (["--shift", f"{MODULE}:Plain"], f"The shift '{MODULE}:Plain' must be a class"),
        (["--set", "data.partition=idd"], "[data] partition must be 'classes', 'dirichlet', 'iid'"),
        (["--set", "data.options={a=1}"], "options is for partition = package.module:Class"),
        (["--set", f"data.partition={MODULE}:Plain"], "must be a dataclass"),
        (
            ["--set", f"data.partition={MODULE}:Partition", "--set", "data.options={a=1}"],
            "[data] options has no setting 'a'",
        ),
        (["--drift", f"{MODULE}:Detector", "--set", "drift.sped=1"], "[drift] has no setting"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words, "--rounds", "1", "--out", "never"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("Error: ")
    assert sentence in told
    assert not Path("never").exists()


def test_a_summary_is_the_first_line() -> None:
    assert summary_of(Registry) == "Entries of one kind by name, such as algorithms"
    assert summary_of((3).__class__.__call__) != ""
    assert summary_of(type("Silent", (), {})) == "it does not say what it is"


@pytest.mark.slow
def test_a_new_process_knows_an_installed_package(tmp_path: Path) -> None:
    """The real command, without preparation, with a package on its path."""
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    (tmp_path / "flexcfl_test_broken.py").write_text("raise ImportError('half')\n")
    lay_package(tmp_path)
    run = [sys.executable, "-m", "flexcfl", "run", "--algorithm", "theirs", "--drift", "theirs"]
    words = ["--shift", "theirs", "--rounds", "1", "--out", str(tmp_path / "run"), "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    said = subprocess.run(
        [*run, *words], env=environment, capture_output=True, text=True, timeout=120
    )
    assert said.returncode == 2
    assert "'theirs' asks no client whether its data have drifted" in said.stderr
    run.remove("--drift")
    run.pop()
    subprocess.run([*run, *words], env=environment, check=True, timeout=120)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["algorithm"], summary["shift"]) == ("theirs", "theirs")
