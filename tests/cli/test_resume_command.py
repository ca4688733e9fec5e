"""``flexcfl resume``: what a person types and sees, for runs of all kinds."""

import gzip
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import flexcfl
from flexcfl.cli import main
from flexcfl.data import Federation, IndexLists
from flexcfl.record.checkpoints import saver
from tests.cli.refusals import told
from tests.reliability.faults import AtOnce, Interrupted
from tests.reliability.small import FLEXCFL, ROUNDS, words

pytestmark = pytest.mark.usefixtures("here")

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every checkpoint be there before the next round, however slow the disk is."""
    monkeypatch.setattr(saver, "ThreadPoolExecutor", AtOnce)


def interrupted(folder: Path) -> Path:
    """Begin a run and let it die in its third round."""
    with Interrupted(folder):
        main(words(FLEXCFL, folder))
    assert not (folder / "summary.json").exists()
    return folder


def test_a_run_goes_on_and_says_from_where(here: Path, capsys: Output) -> None:
    folder = interrupted(here / "run")
    assert main(["resume", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert f"after round 2 of {ROUNDS}" in captured.out
    assert f"round 3/{ROUNDS}  accuracy" in captured.out
    assert f"round 2/{ROUNDS}" not in captured.out
    assert (folder / "summary.json").exists()


def test_a_run_in_a_folder_that_is_named_by_a_link(here: Path) -> None:
    (here / "real").mkdir()
    (here / "link").symlink_to("real")
    interrupted(here / "link")
    assert main(["resume", "-q", "link"]) == 0
    assert (here / "real" / "summary.json").exists()


def test_what_is_finished_is_left_as_it_is(here: Path, capsys: Output) -> None:
    assert main(words(FLEXCFL, here / "run")) == 0
    before = {path: path.stat() for path in (here / "run").rglob("*")}
    assert main(["resume", "run"]) == 0
    shown = capsys.readouterr().out
    assert shown == "The run in 'run' is finished: there is nothing left to do.\n"
    times = {path: path.stat().st_mtime_ns for path in before if path.is_file()}
    assert times == {path: before[path].st_mtime_ns for path in times}


def test_what_a_finished_run_could_not_remove_any_more_goes(here: Path) -> None:
    folder = here / "run"
    shutil.copytree(interrupted(here / "other") / "checkpoints", here / "kept")
    assert main(words(FLEXCFL, folder)) == 0
    before = set(folder.rglob("*"))
    shutil.copytree(here / "kept", folder / "checkpoints")
    (folder / ".lock").touch()
    assert main(["resume", str(folder)]) == 0
    assert set(folder.rglob("*")) == before


@pytest.mark.parametrize("kind", ["nothing", "empty", "file", "other"])
def test_what_is_not_a_run_is_told_so(kind: str, here: Path, capsys: Output) -> None:
    if kind == "file":
        (here / "it").touch()
    elif kind != "nothing":
        (here / "it").mkdir()
    if kind == "other":
        (here / "it" / "rounds.csv").touch()
    before = sorted(here.rglob("*"))
    sentence = told(capsys, "resume", "it")
    assert sentence.startswith("'it' is not the folder of a run, because it has no experiment.toml")
    assert sorted(here.rglob("*")) == before


def test_a_run_needs_to_be_named(capsys: Output) -> None:
    assert main(["resume"]) == 2
    assert "DIR" in capsys.readouterr().err


def test_another_seed_would_be_another_run(here: Path, capsys: Output) -> None:
    file = interrupted(here / "run") / "experiment.toml"
    settings = file.read_text()
    assert "\nseed = 0\ncohorts" in settings or "\nseed = 0\nevaluate" in settings
    changed = settings.replace("\nseed = 0\nevaluate", "\nseed = 1\nevaluate")
    file.write_text(changed.replace("\nseed = 0\ncohorts", "\nseed = 1\ncohorts"))
    sentence = told(capsys, "resume", "-q", "run")
    assert sentence.startswith("[run] seed is not what it was when this run began")
    file.write_text(settings)
    assert main(["resume", "-q", "run"]) == 0


def test_how_often_is_saved_may_change(here: Path) -> None:
    file = interrupted(here / "run") / "experiment.toml"
    file.write_text(file.read_text().replace("checkpoint_rounds = 1", "checkpoint_rounds = 3"))
    assert main(["resume", "-q", "run"]) == 0


def idx(values: bytes, *shape: int) -> bytes:
    return struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + values


def mnist(folder: Path, seed: int) -> Path:
    """Write files as of MNIST with a few random images."""
    (folder / "mnist").mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for part, count in (("train", 200), ("t10k", 40)):
        images, labels = rng.integers(0, 256, count * 784, np.uint8), np.arange(count) % 10
        packed = {
            f"{part}-images-idx3-ubyte.gz": idx(images.tobytes(), count, 28, 28),
            f"{part}-labels-idx1-ubyte.gz": idx(labels.astype(np.uint8).tobytes(), count),
        }
        for name, content in packed.items():
            (folder / "mnist" / name).write_bytes(gzip.compress(content, 1))
    return folder


MNIST = (
    *("--dataset", "mnist", "--model", "mclr", "--algorithm", "fedavg", "--rounds", "5"),
    *("--cohort", "3", "--epochs", "1", "--set", "data.partition=iid", "--set", "data.clients=6"),
    *("--set", "run.checkpoint_rounds=1", "--set", "run.checkpoint_share=1"),
)


def test_data_may_move_but_not_change(here: Path, capsys: Output) -> None:
    first, other = mnist(here / "first", 1), mnist(here / "other", 2)
    with Interrupted(here / "run"):
        main(["run", "-q", "--out", str(here / "run"), "--data", str(first), *MNIST])
    moved = first.rename(here / "moved")
    sentence = told(capsys, "resume", "-q", "run", "--data", str(other))
    assert sentence.startswith("The data are not those with which this run began")
    assert main(["resume", "-q", "run", "--data", str(moved)]) == 0
    whole = ["run", "-q", "--out", str(here / "whole"), "--data", str(moved), *MNIST]
    assert main(whole) == 0
    for name in ("rounds.csv", "models/group-0.safetensors"):
        assert (here / "run" / name).read_bytes() == (here / "whole" / name).read_bytes()


def test_a_run_with_data_of_ones_own_goes_on_from_python(here: Path, capsys: Output) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)).astype(np.float32), np.arange(60) % 3
    owned = IndexLists.of(np.arange(60).reshape(6, 10))
    mine = Federation("mine", x, y, owned, owned, 3)
    folder = here / "run"
    with Interrupted(folder):
        flexcfl.run(
            dataset=mine,
            algorithm="fedavg",
            rounds=5,
            cohort=3,
            epochs=1,
            out=folder,
            set={"run.checkpoint_rounds": 1, "run.checkpoint_share": 1},
        )
    sentence = told(capsys, "resume", "-q", "run")
    assert "flexcfl.resume" in sentence
    assert flexcfl.resume(folder, dataset=mine).summary["rounds"] == 5
