import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexcfl.data import Federation, IndexLists
from flexcfl.data.describe import LEVELS, Spread, describe, label_counts, picture

LABELS = np.array([0, 0, 1, 2, 2, 2, 1])
TRAIN = IndexLists.of([np.array([0, 1, 2]), np.array([3])])
TEST = IndexLists.of([np.array([2, 1]), np.array([], dtype=np.int64)])
X = np.zeros((7, 1, 4), dtype=np.float32)


def test_labels_are_counted_by_client() -> None:
    assert label_counts(TRAIN, LABELS, 4).tolist() == [[2, 1, 0, 0], [0, 0, 1, 0]]
    assert label_counts(TEST, LABELS, 4).tolist() == [[1, 1, 0, 0], [0, 0, 0, 0]]


def test_a_federation_is_described() -> None:
    described = describe(Federation("small", X, LABELS, TRAIN, TEST, classes=4))
    assert (described.clients, described.classes, described.shape) == (2, 4, (1, 4))
    assert (described.pool, described.unused, described.recurring) == (7, 3, 2)
    assert described.train == Spread(1, 2.0, 2.0, 3)
    assert described.test == Spread(0, 1.0, 1.0, 2)
    assert (described.train_total, described.test_total) == (4, 2)
    assert described.classes_per_client == Spread(1, 1.5, 1.5, 2)
    assert described.labels.tolist() == [[3, 2, 0, 0], [0, 0, 1, 0]]
    assert described.structure is None


def test_true_clusters_are_counted() -> None:
    lists = IndexLists.of([[0], [1], [2]])
    known = Federation("small", X, LABELS, lists, lists, classes=4, structure=np.array([7, 2, 7]))
    structure = describe(known).structure
    assert structure is not None
    assert structure.tolist() == [1, 2]


def test_levels_are_quarters_of_a_clients_data() -> None:
    labels = np.array([[1, 3, 0], [4, 0, 0], [1, 1, 98]])
    drawn = picture(labels, columns=10, rows=10)
    assert drawn.clients.tolist() == [1, 0, 2]
    assert drawn.levels.T.tolist() == [[4, 0, 0], [1, 3, 0], [1, 1, 4]]


def test_clients_of_one_kind_stand_together() -> None:
    kinds = np.array([[3, 2, 0, 0], [0, 0, 3, 2], [3, 0, 2, 0]])
    labels = kinds[np.random.default_rng(0).permutation(np.repeat([0, 1, 2], 30))]
    rows = picture(labels, columns=90, rows=4).levels.T.tolist()
    changes = sum(one != other for one, other in itertools.pairwise(rows))
    assert changes == 2


def test_the_most_frequent_classes_are_kept_in_their_order() -> None:
    labels = np.array([[5, 0, 1, 9]])
    assert picture(labels, columns=5, rows=2).classes.tolist() == [0, 3]


@given(
    arrays(np.int64, st.tuples(st.integers(1, 40), st.integers(1, 8)), elements=st.integers(0, 50)),
    st.integers(1, 60),
    st.integers(1, 10),
)
def test_a_picture_fits_and_shows_nobody_twice(
    labels: np.typing.NDArray[np.int64], columns: int, rows: int
) -> None:
    drawn = picture(labels, columns, rows)
    assert drawn.levels.shape == (len(drawn.classes), len(drawn.clients))
    assert len(drawn.clients) == min(columns, len(labels)) == len(set(drawn.clients.tolist()))
    assert len(drawn.classes) == min(rows, labels.any(axis=0).sum())
    assert ((drawn.levels > 0) == (labels[np.ix_(drawn.clients, drawn.classes)].T > 0)).all()
    assert (drawn.levels <= LEVELS).all()


@pytest.mark.parametrize("values", [[5], [1, 2, 9]])
def test_a_spread_is_least_median_mean_greatest(values: list[int]) -> None:
    spread = Spread.of(np.array(values))
    assert (spread.least, spread.greatest) == (min(values), max(values))
    assert spread.median == pytest.approx(np.median(values))
    assert spread.mean == pytest.approx(np.mean(values))
