"""What a federation looks like. A distance of 1 is chance; labels do not count within a class."""

import itertools
from io import StringIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from rich.console import Console

import flexcfl.data.describe as describing
from flexcfl.data import Federation, IndexLists, MadeLists, load_federation
from flexcfl.data.describe import (
    LEVELS,
    Distances,
    LabelSkew,
    client_distances,
    label_counts,
    label_skew,
    skew_picture,
    unused_and_repeated,
)
from flexcfl.data.image_datasets import DigitsOptions
from flexcfl.data.terminal_view import federation_report

LABELS = np.array([0, 0, 1, 2, 2, 2, 1])
TRAIN = IndexLists.of([np.array([0, 1, 2]), np.array([3])])
TEST = IndexLists.of([np.array([2, 1]), np.array([], dtype=np.int64)])
TEST_5 = IndexLists.of([[2, 1, 5], []])
X = np.zeros((7, 1, 4), dtype=np.float32)


def test_labels_are_counted_by_client() -> None:
    assert label_counts(TRAIN, LABELS, 4).tolist() == [[2, 1, 0, 0], [0, 0, 1, 0]]
    assert label_counts(TEST, LABELS, 4).tolist() == [[1, 1, 0, 0], [0, 0, 0, 0]]


def shown(federation: Federation) -> list[str]:
    written = StringIO()
    Console(file=written, width=200).print(federation_report(federation, DigitsOptions()))
    return [" ".join(line.split()) for line in written.getvalue().splitlines()]


def test_a_federation_is_described() -> None:
    small = Federation("small", X, LABELS, TRAIN, TEST, classes=4)
    assert unused_and_repeated(small) == (3, 2)
    lines = shown(small)
    assert lines[0] == "small: 2 clients, 6 examples of 1 x 4 numbers, 4 classes"
    assert lines[3:7] == [
        "per client min median mean max all clients",
        "training examples 1 2 2.0 3 4",
        "test examples 0 1 1.0 2 2",
        "classes 1 1.5 1.5 2 4",
    ]
    assert "Of 7 examples, 3 belong to no client and 2 are used more than once." in lines
    assert not any("structure" in line for line in lines)


def test_true_clusters_are_counted() -> None:
    lists = IndexLists.of([[0], [1], [2]])
    known = Federation("small", X, LABELS, lists, lists, classes=4, structure=np.array([7, 2, 7]))
    assert "The true structure is known: 2 clusters of 1 to 2 clients each." in shown(known)


def test_levels_are_quarters_of_a_clients_data() -> None:
    labels = np.array([[1, 3, 0], [4, 0, 0], [1, 1, 98]])
    drawn = skew_picture(labels, columns=10, rows=10)
    assert drawn.clients.tolist() == [1, 0, 2]
    assert drawn.levels.T.tolist() == [[4, 0, 0], [1, 3, 0], [1, 1, 4]]


def test_clients_of_one_kind_stand_together() -> None:
    kinds = np.array([[3, 2, 0, 0], [0, 0, 3, 2], [3, 0, 2, 0]])
    labels = kinds[np.random.default_rng(0).permutation(np.repeat([0, 1, 2], 30))]
    rows = skew_picture(labels, columns=90, rows=4).levels.T.tolist()
    changes = sum(one != other for one, other in itertools.pairwise(rows))
    assert changes == 2


def test_the_most_frequent_classes_are_kept_in_their_order() -> None:
    labels = np.array([[5, 0, 1, 9]])
    assert skew_picture(labels, columns=5, rows=2).classes.tolist() == [0, 3]


@given(
    arrays(np.int64, st.tuples(st.integers(1, 40), st.integers(1, 8)), elements=st.integers(0, 50)),
    st.integers(1, 60),
    st.integers(1, 10),
)
def test_a_picture_fits_and_shows_nobody_twice(
    labels: np.typing.NDArray[np.int64], columns: int, rows: int
) -> None:
    drawn = skew_picture(labels, columns, rows)
    assert drawn.levels.shape == (len(drawn.classes), len(drawn.clients))
    assert len(drawn.clients) == min(columns, len(labels)) == len(set(drawn.clients.tolist()))
    assert len(drawn.classes) == min(rows, labels.any(axis=0).sum())
    assert ((drawn.levels > 0) == (labels[np.ix_(drawn.clients, drawn.classes)].T > 0)).all()
    assert (drawn.levels <= LEVELS).all()


def rows(skew: LabelSkew) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in skew.columns.values()), strict=True))


def dense(skew: LabelSkew, name: str, clients: int, classes: int) -> Any:
    counts = np.zeros((clients, classes), dtype=np.int64)
    counts[skew.client, skew.label] = skew.columns[name]
    return counts.tolist()


def test_there_is_a_row_for_every_label_that_a_client_has() -> None:
    skew = label_skew(Federation("small", X, LABELS, TRAIN, TEST_5, classes=9))
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
        patch.setattr(describing, "COUNTS_AT_ONCE", block)
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
    for train, test in ((made, TEST_5), (TRAIN, made)):
        skew = label_skew(Federation("made", X, LABELS, train, test, classes=9))
        assert not skew.known
        assert rows(skew) == []


def test_of_very_many_clients_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    federation = Federation("small", X, LABELS, TRAIN, TEST_5, classes=9)
    monkeypatch.setattr(describing, "MOST_CLIENTS_COUNTED", 2)
    assert label_skew(federation).known
    monkeypatch.setattr(describing, "MOST_CLIENTS_COUNTED", 1)
    assert not label_skew(federation).known


CLIENTS, EACH, CLASSES = 20, 40, 4
ALIKE = np.arange(CLIENTS * EACH) % CLASSES
SKEWED = np.repeat(np.arange(CLIENTS) % CLASSES, EACH)
SKEWED[::4] = ALIKE[::4]
OWNER = np.repeat(np.arange(CLIENTS), EACH)


def noise(width: int = 12) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(CLIENTS * EACH, width)).astype(np.float32)


def found(x: NDArray[np.float32], y: NDArray[np.int64], each: int = EACH) -> list[Distances]:
    lists = IndexLists.of(np.arange(len(y)).reshape(-1, each))
    mine = Federation("mine", x, y, lists, IndexLists.of([[]] * len(lists)), CLASSES)
    return list(client_distances(mine))


def test_they_say_whether_clients_differ_and_whether_by_their_labels_alone() -> None:
    for x, y, differ in (
        (noise(), ALIKE, (False, False)),
        (noise() + SKEWED[:, None], SKEWED, (True, False)),
        (noise() + OWNER[:, None] / 10, ALIKE, (True, True)),
        (noise() + ((ALIKE + OWNER) % CLASSES)[:, None] / 2, ALIKE, (False, True)),
    ):
        both = found(x.astype(np.float32), y)
        assert tuple(each.all > 1.15 for each in both) == differ
        assert all(each.all > 0.8 for each in both)
        assert all(each.each.shape == (CLIENTS,) for each in both)


def test_who_is_apart_has_a_greater_distance() -> None:
    x = noise()
    x[OWNER == 7] += 1
    for each in found(x, ALIKE):
        assert each.each.argmax() == 7


def test_few_directions_do_for_long_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    x = (noise(200) + OWNER[:, None] / 10).astype(np.float32)
    few = found(x, ALIKE)
    monkeypatch.setattr(describing, "MOST_AXES", 200)
    monkeypatch.setattr(describing, "EXAMPLES_AT_ONCE", 37)
    for one, other in zip(few, found(x, ALIKE), strict=True):
        assert one.all == pytest.approx(other.all, rel=0.2)


def test_of_very_many_clients_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "MOST_CLIENTS_COMPARED", 5)
    assert found(noise(), ALIKE)[0].each.shape == (5,)


def test_where_nothing_can_be_known_there_is_no_distance() -> None:
    for x, y, each in (
        (noise(), ALIKE, 1),  # nothing to take chance from
        (np.ones_like(noise()), ALIKE, EACH),
        (noise(), ALIKE, CLIENTS * EACH),  # nobody else
    ):
        assert all(np.isnan(both.all) and np.isnan(both.each).all() for both in found(x, y, each))
    alone = ALIKE.copy()
    alone[OWNER == 3] = 3
    alone[OWNER != 3] %= 3
    by_class = found(noise(), alone)[1]
    assert np.flatnonzero(np.isnan(by_class.each)).tolist() == [3]
    assert by_class.all == pytest.approx(1, abs=0.15)
