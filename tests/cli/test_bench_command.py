"""``flexcfl bench``, shortened."""

import re
from pathlib import Path

import numpy as np
import pytest

from flexcfl.benchmark import work
from flexcfl.cli import main
from flexcfl.data import Federation, IndexLists
from tests.cli.refusals import told


def small() -> Federation:
    lists = IndexLists.of([np.array([client, client + 1]) for client in range(25)])
    x = np.random.default_rng(0).normal(size=(30, 1, 28, 28)).astype(np.float32)
    return Federation("mnist", x, np.arange(30) % 10, lists, lists, 10)


def test_three_models_are_measured_on_noise_where_mnist_is_not_found(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(work, "noise", small)
    assert main(["bench", "--rounds", "1"]) == 0
    shown = capsys.readouterr()
    assert "MNIST's files are not here" in shown.err
    for model in ("logistic regression", "MLP 784-128-10", "MNIST CNN"):
        assert re.search(rf"{model}( +[\d,.]+){{5}} +\w+$", shown.out, re.M), shown.out
    assert not list(here.iterdir())


def test_a_folder_without_mnist_is_a_mistake(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "mnist" in told(capsys, "bench", "--data", str(here))


def test_no_round_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--rounds" in told(capsys, "bench", "--rounds", "0")
