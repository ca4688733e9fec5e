"""Distances of clients from each other: 1 is chance, and labels do not count within a class."""

import numpy as np
import pytest
from numpy.typing import NDArray

from flexcfl.data import Federation, IndexLists, distances
from flexcfl.data.distances import Distances

CLIENTS, EACH, CLASSES = 20, 40, 4
LABELS = np.arange(CLIENTS * EACH) % CLASSES
SKEWED = np.repeat(np.arange(CLIENTS) % CLASSES, EACH)
SKEWED[::4] = LABELS[::4]
OWNER = np.repeat(np.arange(CLIENTS), EACH)


def noise(width: int = 12) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(CLIENTS * EACH, width)).astype(np.float32)


def found(x: NDArray[np.float32], y: NDArray[np.int64], each: int = EACH) -> list[Distances]:
    lists = IndexLists.of(np.arange(len(y)).reshape(-1, each))
    mine = Federation("mine", x, y, lists, IndexLists.of([[]] * len(lists)), CLASSES)
    return list(distances.distances(mine))


def test_they_say_whether_clients_differ_and_whether_by_their_labels_alone() -> None:
    for x, y, differ in (
        (noise(), LABELS, (False, False)),
        (noise() + SKEWED[:, None], SKEWED, (True, False)),
        (noise() + OWNER[:, None] / 10, LABELS, (True, True)),
        (noise() + ((LABELS + OWNER) % CLASSES)[:, None] / 2, LABELS, (False, True)),
    ):
        both = found(x.astype(np.float32), y)
        assert tuple(each.all > 1.15 for each in both) == differ
        assert all(each.all > 0.8 for each in both)
        assert all(each.each.shape == (CLIENTS,) for each in both)


def test_who_is_apart_has_a_greater_distance() -> None:
    x = noise()
    x[OWNER == 7] += 1
    for each in found(x, LABELS):
        assert each.each.argmax() == 7


def test_few_directions_do_for_long_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    x = (noise(200) + OWNER[:, None] / 10).astype(np.float32)
    few = found(x, LABELS)
    monkeypatch.setattr(distances, "MOST_AXES", 200)
    monkeypatch.setattr(distances, "ROWS", 37)
    for one, other in zip(few, found(x, LABELS), strict=True):
        assert one.all == pytest.approx(other.all, rel=0.2)


def test_of_very_many_clients_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "MOST_CLIENTS", 5)
    assert found(noise(), LABELS)[0].each.shape == (5,)


def test_where_nothing_can_be_known_there_is_no_distance() -> None:
    for x, y, each in (
        (noise(), LABELS, 1),  # nothing to take chance from
        (np.ones_like(noise()), LABELS, EACH),
        (noise(), LABELS, CLIENTS * EACH),  # nobody else
    ):
        assert all(np.isnan(both.all) and np.isnan(both.each).all() for both in found(x, y, each))
    alone = LABELS.copy()
    alone[OWNER == 3] = 3
    alone[OWNER != 3] %= 3
    by_class = found(noise(), alone)[1]
    assert np.flatnonzero(np.isnan(by_class.each)).tolist() == [3]
    assert by_class.all == pytest.approx(1, abs=0.15)
