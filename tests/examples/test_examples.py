"""The examples as a reader takes them: short, complete, found by name, and true to their word."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.cli import main
from flexcfl.testing import Check, checks

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*.py"))
NETWORKS = {"resnet.py": 20, "gru.py": 20}
KINDS = {
    "first_choice:entry": "algorithm",
    "chi_square:ChiSquare": "detector",
    "carousel:Carousel": "shift",
    "shards:Shards": "partition",
}
OWN: Mapping[str, object] = {
    "data.partition": "shards:Shards",
    "data.options": {"each": 3},
    "data.clients": 40,
    "shift.name": "carousel:Carousel",
    "shift.period": 2,
    "run.rounds": 6,
    "local.epochs": 2,
}


@pytest.fixture(autouse=True)
def _there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_example_is_short_and_says_what_it_is(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    assert len(lines) <= NETWORKS.get(file.name, 40)
    assert lines[0].startswith('"""')
    assert lines[0].endswith('."""')


def test_the_page_shows_the_examples_as_they_are() -> None:
    page = (EXAMPLES.parent / "docs" / "extend.md").read_text("utf-8")
    for file in FILES:
        shown = f'```python title="{file.name}"\n{file.read_text("utf-8")}```\n'
        assert shown in page, f"docs/extend.md does not show {file.name} as it is in examples."


def promises() -> list[tuple[str, Check]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(EXAMPLES)
        return [(name, check) for name, kind in KINDS.items() for check in checks(kind, name)]


@pytest.mark.parametrize(("name", "check"), promises(), ids=str)
def test_it_keeps_what_ours_promise(name: str, check: Check) -> None:
    check()


def test_all_of_them_in_one_experiment_that_can_be_run_again(tmp_path: Path) -> None:
    settings = {**OWN, "drift.name": "chi_square:ChiSquare", "drift.level": 0.01}
    run = flexcfl.run(algorithm="flexcfl", set=settings, out=tmp_path / "run")
    assert run.summary["shift"] == "carousel:Carousel"
    assert run.summary["shifted"] == 3 * 40  # everybody, when rounds 2, 4 and 6 begin
    assert run.summary["detected"] > 0
    again = flexcfl.run(tmp_path / "run" / "experiment.toml", out=tmp_path / "again")
    rounds = [(tmp_path / name / "rounds.csv").read_bytes() for name in ("run", "again")]
    assert rounds[0] == rounds[1]
    assert again.experiment == run.experiment


def test_shards_are_few_labels_each(tmp_path: Path) -> None:
    run = flexcfl.run(algorithm="fedavg", set={**OWN, "run.rounds": 1})
    labels = [np.unique(run.labels["label"][run.labels["client"] == c]).size for c in range(40)]
    assert max(labels) <= 6
    assert np.mean(labels) < 4


@pytest.mark.slow
def test_an_algorithm_of_ones_own_is_compared_and_found_by_processes(tmp_path: Path) -> None:
    out = tmp_path / "both"
    words = ["compare", "fedavg", "first_choice:entry", "--rounds", "6", "--seeds", "2"]
    words += ["--set", "algorithm.groups=4", "--jobs", "1", "--out", str(out), "--quiet"]
    assert main(words) == 0
    table = (out / "comparison.csv").read_text()
    assert table.count("first_choice:entry") == 2
    folders = {each.name for each in out.iterdir() if each.is_dir()}
    assert folders == {
        f"{name}-seed{seed}" for name in ("fedavg", "first_choice-entry") for seed in (0, 1)
    }
    assert (out / "report.html").stat().st_size > 10_000


def test_it_is_interrupted_and_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    class PowerCutError(Exception):
        pass

    class Cut(flexcfl.Callback):
        def round(self, *_: object) -> None:
            self.seen = getattr(self, "seen", 0) + 1
            if self.seen == 4:
                raise PowerCutError

    settings = {**OWN, "run.checkpoint_rounds": 1, "run.checkpoint_share": 1}
    chosen: dict[str, Any] = {"algorithm": "first_choice:entry", "set": settings}
    flexcfl.run(**chosen, out=tmp_path / "whole")
    with pytest.raises(PowerCutError):
        flexcfl.run(**chosen, out=tmp_path / "cut", callbacks=[Cut()])
    flexcfl.resume(tmp_path / "cut")
    rounds = [(tmp_path / name / "rounds.csv").read_bytes() for name in ("whole", "cut")]
    assert rounds[0] == rounds[1]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "rate"), [("resnet:resnet", 0.1), ("gru:Reader", 0.3)])
def test_a_network_of_ones_own_learns_under_flexcfl(model: str, rate: float) -> None:
    words: dict[str, Any] = {"dataset": "digits", "algorithm": "flexcfl", "shift": "swap-all"}
    run = flexcfl.run(**words, model=model, rounds=12, epochs=3, rate=rate)
    assert run.accuracy.best is not None
    assert run.accuracy.best > 0.75
    assert run.summary["migrations"] > 0
    module = run.model(0)
    assert sum(each.numel() for each in module.parameters()) == run.summary["parameters"]
