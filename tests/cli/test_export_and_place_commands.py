"""``flexcfl export`` and ``flexcfl place``: what they print, write and refuse."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import flexcfl
from flexcfl.cli import main
from tests.cli.refusals import told

SHORT = ["--rounds", "3", "--epochs", "2", "--shift", "none", "-q"]


@pytest.fixture
def run(here: Path) -> Path:
    assert main(["run", "--out", "mine", *SHORT]) == 0
    x, y = load_digits(return_X_y=True)
    own = np.isin(y, [3, 4])
    x, y = x[own] / 16, y[own]
    np.savez(here / "whole.npz", x=x, y=y)
    np.savez(here / "divided.npz", x_train=x[::2], y_train=y[::2], x_test=x[1::2], y_test=y[1::2])
    return here / "mine"


def test_the_group_is_told_with_a_table(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", "mine", "--data", "divided.npz"]) == 0
    captured = capsys.readouterr()
    shown = captured.out
    found = re.search(r"^The newcomer belongs to group (\d), by the direction of", shown)
    assert found
    lines = re.findall(r"^ +(\d)( <-)? +(\d+) +(\S+)% +(\S+) +(\S+%|not measured)$", shown, re.M)
    assert [line[0] for line in lines] == ["0", "1", "2", "3", "4"]
    assert [line[0] for line in lines if line[1]] == [found[1]]
    again = flexcfl.load("mine")
    assert [int(line[2]) for line in lines] == [
        np.count_nonzero(again.group_of == group) for group in range(5)
    ]
    with np.load("divided.npz") as held:
        placement = again.place(*(held[name] for name in held.files))
    assert [float(line[3]) for line in lines] == np.round(placement.accuracy * 100, 1).tolist()
    assert f"Measured on its {placement.examples} test examples." in shown
    assert captured.err == ""


def test_the_same_examples_are_said_to_be_the_same(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["place", "mine", "--data", "whole.npz"]) == 0
    assert "examples, the same by which it was placed." in capsys.readouterr().out


def test_a_better_model_than_that_of_the_group_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--algorithm", "fesem", "--groups", "3", "--out", "mine", "--cohort", "50", *SHORT]
    assert main(["run", *words]) == 0
    x, y = load_digits(return_X_y=True)
    np.savez(here / "new.npz", x=x / 16, y=y)
    told_of = set()
    for seed in range(6):  # which group it is, is a matter of chance
        assert main(["place", "mine", "--data", "new.npz", "--seed", str(seed)]) == 0
        shown = capsys.readouterr().out
        assert "by chance" in shown
        told_of.add("does better on these examples" in shown)
    assert told_of == {True, False}


def test_json_is_for_programs(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", "mine", "--data", "divided.npz", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"group", "best", "how", "examples", "tested", "groups"}
    assert [each["group"] for each in found["groups"]] == [0, 1, 2, 3, 4]
    assert found["group"] == found["best"]
    assert found["tested"] is True


def test_models_are_written_and_not_written_over(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "mine"]) == 0
    assert re.fullmatch(r"written: mine/export \(9 files, \d\d kB\)\n", capsys.readouterr().out)
    assert "holds something already" in told(capsys, "export", "mine")
    assert main(["export", "mine", "--force", "-q"]) == 0
    assert main(["export", "mine", "-o", "models", "-q"]) == 0
    assert capsys.readouterr().out == ""
    for name in ("group-0.safetensors", "README.md", "config.json", "settings.toml"):
        assert (Path("models") / name).read_bytes() == (run / "export" / name).read_bytes()
    assert main(["report", ".", "-q"]) == 0  # to which an export is no run


def test_what_is_refused_is_one_sentence(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not the folder of a run" in told(capsys, "export", "nowhere")
    assert "is not the folder of a run" in told(capsys, "place", ".", "--data", "whole.npz")
    assert "There is no file 'no.npz'" in told(capsys, "place", "mine", "--data", "no.npz")
    Path("text.npz").write_text("no arrays")
    assert "cannot be read as .npz" in told(capsys, "place", "mine", "--data", "text.npz")
    np.savez("other.npz", x=np.zeros((2, 3)), y=[0, 1])
    assert "of shape (3,)" in told(capsys, "place", "mine", "--data", "other.npz")
    np.savez("labels.npz", y=[0, 1])
    assert "needs the arrays" in told(capsys, "place", "mine", "--data", "labels.npz")
    (run / "summary.json").unlink()
    assert "is not finished" in told(capsys, "export", "mine")
