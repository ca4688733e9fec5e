"""The label skew of a federation, client by client."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.data import Federation, IndexLists, MadeLists, load_federation
from flexcfl.data import skew as module
from flexcfl.data.describe import label_counts
from flexcfl.data.skew import LabelSkew, label_skew

Y = np.array([0, 0, 1, 2, 2, 2, 1])
X = np.zeros((7, 1), dtype=np.float32)
TRAIN = IndexLists.of([[0, 1, 2], [3]])
TEST = IndexLists.of([[2, 1, 5], []])


def rows(skew: LabelSkew) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in skew.columns.values()), strict=True))


def dense(skew: LabelSkew, name: str, clients: int, classes: int) -> Any:
    counts = np.zeros((clients, classes), dtype=np.int64)
    counts[skew.client, skew.label] = skew.columns[name]
    return counts.tolist()


def test_there_is_a_row_for_every_label_that_a_client_has() -> None:
    skew = label_skew(Federation("small", X, Y, TRAIN, TEST, classes=9))
    assert list(skew.columns) == ["client", "label", "train", "test"]
    assert rows(skew) == [(0, 0, 2, 1), (0, 1, 1, 1), (0, 2, 0, 1), (1, 2, 1, 0)]
    assert skew.known


@given(st.integers(1, 30), st.integers(0, 2**32))
def test_counts_are_the_same_in_blocks_of_any_size(block: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    clients, classes = 7, 5
    parts = [[rng.integers(40, size=rng.integers(1, 9)) for _ in range(clients)] for _ in range(2)]
    y = rng.integers(classes, size=40)
    train, test = map(IndexLists.of, parts)
    federation = Federation("any", np.zeros((40, 1), np.float32), y, train, test, classes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        skew = label_skew(federation)
    assert rows(skew) == sorted(rows(skew))
    assert (skew.train + skew.test > 0).all()
    for name, lists in (("train", train), ("test", test)):
        expected = label_counts(lists, y, classes)
        assert dense(skew, name, clients, classes) == expected.tolist()
        assert skew.columns[name].dtype == np.int64


@pytest.mark.parametrize("name", ["digits", "clusters", "synthetic"])
def test_all_examples_are_counted(name: str) -> None:
    federation = load_federation(name)
    skew = label_skew(federation)
    for counts, lists in ((skew.train, federation.train), (skew.test, federation.test)):
        sizes = np.bincount(skew.client, counts, minlength=federation.clients)
        assert sizes.tolist() == lists.sizes.tolist()


def test_of_lists_that_are_made_on_demand_nothing_is_known() -> None:
    made = MadeLists.of(lambda clients: clients, np.ones(2, int), 7)
    for train, test in ((made, TEST), (TRAIN, made)):
        skew = label_skew(Federation("made", X, Y, train, test, classes=9))
        assert not skew.known
        assert rows(skew) == []


def test_of_very_many_clients_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    federation = Federation("small", X, Y, TRAIN, TEST, classes=9)
    monkeypatch.setattr(module, "MOST_CLIENTS", 2)
    assert label_skew(federation).known
    monkeypatch.setattr(module, "MOST_CLIENTS", 1)
    assert not label_skew(federation).known
