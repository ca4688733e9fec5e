"""``flexcfl.compare``, in real processes."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.comparison import Comparison, api, worker_pool
from flexcfl.errors import SettingsError
from flexcfl.experiment.objects import user_objects
from flexcfl.record.tables import Round
from flexcfl.runner import Beginning
from flexcfl.runner.tracking import TensorBoard
from tests.comparison.here import all_done_here, federation

SHORT: dict[str, Any] = {"rounds": 2, "cohort": 5, "epochs": 1}
ASSIGNED = {"data.clients": 10}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    out = tmp_path_factory.mktemp("comparison") / "out"
    return api.compare(["fedavg", "ifca"], seeds=2, jobs=2, set=ASSIGNED, out=out, **SHORT)


@pytest.mark.slow
def test_it_returns_what_every_run_found(compared: Comparison) -> None:
    assert compared.algorithms == ("fedavg", "ifca")
    for name, row in zip(compared.algorithms, compared.table, strict=True):
        assert [run["seed"] for run in compared.runs[name]] == [0, 1]
        assert compared.curves[name].shape == (2, 2)
        best: list[Any] = [run["accuracy"]["best"] for run in compared.compared[name]]
        assert row.best.mean == pytest.approx(np.mean(best))
        assert compared.curves[name][:, compared.measured].max(axis=1) == pytest.approx(best)


@pytest.mark.slow
def test_it_leaves_a_folder_for_each_run_and_what_they_show_together(compared: Comparison) -> None:
    assert compared.folder is not None
    runs = {f"{name}-seed{seed}" for name in ("fedavg", "ifca") for seed in (0, 1)}
    files = {"report.html", *(f"comparison.{end}" for end in ("csv", "json", "toml"))}
    assert {path.name for path in compared.folder.iterdir()} == runs | files
    assert len((compared.folder / "comparison.csv").read_text().splitlines()) == 5
    described = json.loads((compared.folder / "comparison.json").read_text())
    assert described["settings"]["run"]["cohort"] == 5
    assert described["compared"] == {"rounds": 1, "first_round": 2, "last_round": 2}
    assert described["algorithms"]["ifca"]["settings"]["algorithm"]["groups"] == 5
    assert described["algorithms"]["ifca"]["figures"] == compared.table[1].figures()


@pytest.mark.slow
def test_a_run_in_a_process_of_its_own_is_like_any_other(
    compared: Comparison, tmp_path: Path
) -> None:
    assert compared.folder is not None
    together = {**ASSIGNED, "run.cohorts": "round-robin-then-uniform"}
    flexcfl.run(algorithm="fedavg", seed=1, set=together, out=tmp_path / "one", **SHORT)
    for name in ("rounds.csv", "groups.csv", "experiment.toml", "models/group-0.safetensors"):
        one, same = tmp_path / "one" / name, compared.folder / "fedavg-seed1" / name
        assert one.read_bytes() == same.read_bytes(), name


@pytest.mark.slow
def test_a_federation_of_ones_own_is_sent_to_the_processes() -> None:
    found = api.compare(["fedavg"], dataset=federation(), seeds=1, rounds=2)
    assert found.folder is None
    together = {"run.cohorts": "round-robin-then-uniform"}
    run = flexcfl.run(algorithm="fedavg", dataset=federation(), rounds=2, set=together)
    assert np.array_equal(found.curves["fedavg"][0], run.rounds["accuracy"], equal_nan=True)


SCRIPT = """
from flexcfl.comparison import compare
print(compare(["fedavg"], seeds=1, rounds=1, model="nets:small").runs["fedavg"][0]["model"])
"""
NETS = """
from torch import nn
def small(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
"""


@pytest.mark.slow
def test_a_script_needs_no_guard_and_may_have_a_network_beside_it(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=tmp_path.parent)
    assert (done.stdout, done.stderr) == ("nets:small\n", "")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"algorithms": "fedavg"}, "algorithms must be a list such as"),
        ({"algorithms": ["fedavg", object()]}, "must be a list of names .* and has <object"),
        ({"algorithms": [{"a": 1}]}, "has {'a': 1} in it: name your own algorithm as 'package"),
        (
            {"learning_rate": 0.1},
            r"compare\(\) has no argument 'learning_rate': did you mean 'rate'",
        ),
        ({"random_state": 0}, "no argument 'random_state': did you mean 'seeds'"),
        ({"set": {"local": {"rate": 0.1}, "local.rate": 0.2}}, "'local.rate' is set twice: set"),
        ({"set": 5}, "set must be a mapping"),
        ({"jobs": 0}, "jobs must be a whole number from 1 to 1000, not 0"),
        ({"seeds": "3"}, "seeds must be a whole number"),
        ({"model": lambda: None}, "A comparison has to import the model"),
        ({"model": SHORT.get}, "name it as package.module:factory"),
        ({"callbacks": [flexcfl.Callback]}, "callbacks must be a list of objects such as"),
        ({"callbacks": [TensorBoard()], "jobs": 2}, "leave jobs out, or name trackers with track"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        api.compare(**words)


def test_a_factory_of_a_module_is_known_by_its_name() -> None:
    factory: Any = federation
    own, given = user_objects({"model": factory})
    assert given == {"model.name": "tests.comparison.here:federation"}
    assert own.factory is None


@dataclass
class Diary(flexcfl.Callback):
    """Writes down which run goes on, its rounds and its end."""

    heard: list[str] = field(default_factory=list)
    fails: BaseException | None = None

    def begin(self, beginning: Beginning) -> None:
        run = beginning.experiment
        folder = beginning.folder.name if beginning.folder else "nowhere"
        self.heard.append(f"{run.algorithm.name} {run.run.seed} after {beginning.before}: {folder}")

    def round(self, done: Round) -> None:
        self.heard.append(f"round {done.figures.round}")
        if self.fails is not None:
            raise self.fails

    def end(self, run: flexcfl.Run) -> None:
        self.heard.append("end")

    def break_off(self, error: BaseException) -> None:
        self.heard.append(f"broken off: {error}")


def test_callbacks_follow_every_run_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: Callable[[Path], dict[str, bytes]]
) -> None:
    whole = ["round 1", "round 2", "end"]
    diary, out = Diary(), tmp_path / "out"
    options: dict[str, Any] = {"dataset": federation(), "seeds": 1, "rounds": 2}
    with monkeypatch.context() as patch:
        patch.setattr(worker_pool, "WorkerProcess", None)
        found = api.compare(["fedavg", "ifca"], callbacks=[diary], out=out, **options)
        assert diary.heard == [
            *("fedavg 0 after 0: fedavg-seed0", *whole),
            *("ifca 0 after 0: ifca-seed0", *whole),
        ]
        again = Diary()
        api.compare(["fedavg", "ifca"], callbacks=[again], jobs=1, out=out, **options)
        assert again.heard == []  # all were finished
    with all_done_here():
        other = api.compare(["fedavg", "ifca"], out=tmp_path / "other", **options)
    for name, curves in found.curves.items():
        assert np.array_equal(curves, other.curves[name], equal_nan=True)
    assert snapshot(out) == snapshot(tmp_path / "other")


@pytest.mark.parametrize(
    ("raised", "error", "sentence"),
    [
        (ValueError("enough"), ValueError, "^enough$"),
        (KeyboardInterrupt("enough"), KeyboardInterrupt, "^enough$"),
        (SettingsError("enough"), SettingsError, "^'fedavg' with seed 0 failed: enough$"),
    ],
)
def test_what_a_callback_raises_ends_the_comparison(
    raised: BaseException, error: type[BaseException], sentence: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"dataset": federation(), "rounds": 2}
    diary = Diary(fails=raised)
    with pytest.raises(error, match=sentence):
        api.compare(["fedavg", "ifca"], callbacks=[diary], out=tmp_path / "out", **options)
    begin = "fedavg 0 after 0: fedavg-seed0"
    assert diary.heard == [begin, "round 1", "broken off: enough"]
    diary = Diary()
    api.compare(["fedavg", "ifca"], callbacks=[diary], out=tmp_path / "out", **options)
    assert diary.heard[:3] == ["fedavg 0 after 0: fedavg-seed0", "round 1", "round 2"]
