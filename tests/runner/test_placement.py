"""A newcomer is placed by the run's own algorithm, and every group is measured on its examples."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import flexcfl
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS, Federation
from flexcfl.errors import DataError, SettingsError
from flexcfl.protocol import Serving
from flexcfl.runner import prepare
from tests.runner.test_loading import small

WORDS: dict[str, Any] = {
    "dataset": "clusters",
    "rounds": 8,
    "cohort": 10,
    "set": {"data": {"clients": 40, "clusters": 3, "features": 10}},
}


@pytest.fixture(scope="module")
def federation() -> Federation:
    dataset = DATASETS["clusters"]
    return dataset.load(dataset.options(clients=40, clusters=3, features=10), None)


@pytest.fixture(scope="module")
def run() -> flexcfl.Run:
    return flexcfl.run(algorithm="flexcfl", groups=3, **WORDS)


def of_client(federation: Federation, client: int) -> tuple[np.ndarray, ...]:
    train, test = federation.train[client], federation.test[client]
    return federation.x[train], federation.y[train], federation.x[test], federation.y[test]


@pytest.mark.parametrize("algorithm", ["flexcfl", "fedgroup", "ifca", "fedavg", "flhc"])
def test_who_has_the_data_of_a_client_finds_its_group(
    algorithm: str, federation: Federation
) -> None:
    more: dict[str, Any] = {} if algorithm == "fedavg" else {"groups": 3}
    if algorithm == "flhc":
        more |= {"rounds": 15}
    run = flexcfl.run(algorithm=algorithm, **{**WORDS, **more})
    for client in range(0, 40, 5):
        placement = run.place(*of_client(federation, client))
        assert placement.group == run.group_of[client]
        assert placement.how == ALGORITHMS[algorithm].placing


def test_figures_are_those_of_the_models_themselves(
    run: flexcfl.Run, federation: Federation
) -> None:
    x, y, x_test, y_test = of_client(federation, 7)
    placement = run.place(x, y, x_test, y_test)
    assert (placement.examples, placement.tested) == (len(y_test), True)
    for group in range(3):
        with torch.no_grad():
            logits = run.model(group)(torch.from_numpy(x_test))
        labels = torch.from_numpy(y_test)
        right = (logits.argmax(1) == labels).double().mean().item()
        loss = torch.nn.functional.cross_entropy(logits.double(), labels).item()
        assert placement.accuracy[group] == pytest.approx(right, abs=1e-9)
        assert placement.loss[group] == pytest.approx(loss, rel=1e-4)
    assert placement.best == int(np.lexsort((placement.loss, -placement.accuracy))[0])


def test_without_test_examples_the_same_ones_are_measured(
    run: flexcfl.Run, federation: Federation
) -> None:
    x, y, *_ = of_client(federation, 7)
    alone, twice = run.place(x, y), run.place(x, y, x, y)
    assert (alone.tested, twice.tested) == (False, True)
    assert alone.examples == twice.examples == len(y)
    assert np.array_equal(alone.accuracy, twice.accuracy)
    assert alone.group == twice.group


def test_to_be_placed_changes_nothing_and_depends_on_the_seed_alone(
    federation: Federation,
) -> None:
    run = flexcfl.run(algorithm="fesem", groups=3, **WORDS)
    before = np.stack(run.models)
    x, y, *_ = of_client(federation, 0)
    found = {seed: run.place(x, y, seed=seed).group for seed in range(12)}
    assert set(found.values()) == {0, 1, 2}  # by chance
    assert {seed: run.place(x, y, seed=seed).group for seed in found} == found
    assert np.array_equal(np.stack(run.models), before)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_a_run_that_was_loaded_places_as_the_run_did(algorithm: str, tmp_path: Path) -> None:
    run = flexcfl.run(**small(algorithm), out=tmp_path / "run")
    again = flexcfl.load(tmp_path / "run")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 4)), rng.integers(run.summary["classes"], size=30)
    one, other = run.place(x, y), again.place(x, y)
    assert one.group == other.group
    assert one.group in one.groups.tolist()
    assert np.array_equal(one.loss, other.loss)
    assert str(one) == str(other)


def test_whose_training_diverges_has_no_group(run: flexcfl.Run) -> None:
    x, y = np.full((4, 10), 3e38), np.zeros(4, dtype=np.int64)
    x[::2] *= -1
    assert run.place(x, y).group is None
    assert str(run.place(x, y)).startswith("no group")


def test_a_private_run_places_newcomers_as_privately(federation: Federation) -> None:
    pytest.importorskip("dp_accounting")
    private = {**WORDS["set"], "privacy.level": "client", "privacy.noise": 1e-6}
    run = flexcfl.run(algorithm="flexcfl", groups=3, **{**WORDS, "set": private})
    x, y, *_ = of_client(federation, 3)
    assert run.place(x, y).group == run.group_of[3]
    noise = {**private, "privacy.noise": 1e6}
    run = flexcfl.run(algorithm="flexcfl", groups=3, **{**WORDS, "set": noise})
    assert len({run.place(x, y, seed=seed).group for seed in range(10)}) > 1


def test_examples_may_be_flat_or_lack_an_axis_of_one() -> None:
    run = flexcfl.run(dataset="digits", rounds=1, epochs=1)
    flat, y = np.random.default_rng(0).random((20, 64)), np.arange(20) % 10
    square = flat.reshape(20, 8, 8)
    assert np.array_equal(run.place(flat, y).loss, run.place(square, y).loss)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"x": np.zeros((2, 3)), "y": [0, 1]}, r"of shape \(3,\) instead of \(10,\)"),
        ({"x": np.zeros((2, 10)), "y": [0]}, "2 examples but 1 labels"),
        ({"x": np.zeros((2, 10)), "y": [0, 99]}, "has a label outside of 0 to"),
        ({"x": np.zeros((2, 10)), "y": [-1, 0]}, "has a label outside of 0 to"),
        ({"x": np.zeros((2, 10)), "y": [0.0, 1.0]}, "one whole number as the label of each"),
        ({"x": np.full((2, 10), np.nan), "y": [0, 1]}, "NaN or infinity"),
        ({"x": [["a"] * 10], "y": [0]}, "give numbers"),
        ({"x": np.zeros((0, 10)), "y": np.zeros(0, int)}, "has no example"),
        ({"x": np.zeros((2, 10)), "y": [0, 1], "x_test": np.zeros((2, 10))}, "y_test is missing"),
        ({"x": np.zeros((2, 10)), "y": [0, 1], "y_test": [0]}, "x_test is missing"),
        (
            {"x": np.zeros((2, 10)), "y": [0, 1], "x_test": np.zeros((2, 9)), "y_test": [0, 1]},
            r"x_test and y_test\) has examples of shape \(9,\)",
        ),
    ],
)
def test_what_is_wrong_with_examples_is_one_sentence(
    run: flexcfl.Run, words: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        run.place(**words)


class Closed:
    """FedAvg that knows of no newcomers."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def start(self, *words: Any) -> Any:
        return self.inner.start(*words)

    def round(self, *words: Any) -> Any:
        return self.inner.round(*words)

    def serving(self, state: Serving) -> Any:
        return self.inner.serving(state)


def test_an_algorithm_that_knows_of_no_newcomers_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = ALGORITHMS["fedavg"]
    closed = replace(entry, make=lambda *words: Closed(entry.make(*words)))
    monkeypatch.setattr(prepare, "ALGORITHMS", {"fedavg": closed})
    run = flexcfl.run(**small("fedavg"), out=tmp_path / "run")
    for each in (run, flexcfl.load(tmp_path / "run")):
        assert each.newcomer is None
        with pytest.raises(SettingsError, match="cannot place one newcomer alone"):
            each.place(np.zeros((2, 4)), [0, 1])


CHECKOUT = Path(__file__).parents[2]
MNIST = Path(os.environ.get("FLEXCFL_DATA") or CHECKOUT.parent / "shared" / "data")


@pytest.mark.slow
@pytest.mark.skipif(not (MNIST / "mnist").is_dir(), reason="needs MNIST's files")
def test_two_digits_find_the_group_that_knows_them_best() -> None:
    run, pool = flexcfl.run(dataset="mnist", data=MNIST), DATASETS["mnist"]
    federation = pool.load(pool.options(), MNIST)
    lists = (federation.train, federation.test)
    used = [each.gathered(np.arange(federation.clients)).indices for each in lists]
    unseen = np.setdiff1d(np.arange(len(federation.y)), np.concatenate(used))  # that no client has
    found = []
    for first in range(10):
        own = unseen[np.isin(federation.y[unseen], [first, (first + 1) % 10])]
        x, y = federation.x[own], federation.y[own]
        placement = run.place(x[::2], y[::2], x[1::2], y[1::2])
        assert placement.accuracy[placement.best] > 0.75
        found.append(placement.group == placement.best)
    assert sum(found) >= 8, found
