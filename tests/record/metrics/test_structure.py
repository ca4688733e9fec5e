"""Groups against true clusters."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from flexcfl.protocol import NO_GROUP
from flexcfl.record.metrics import adjusted_rand_index

TRUE = np.array([0, 0, 1, 1, 2, 2])


def test_names_of_groups_do_not_matter() -> None:
    assert adjusted_rand_index(TRUE, np.array([5, 5, 0, 0, 1, 1])) == 1


def test_only_those_who_are_placed_count() -> None:
    group_of = np.array([1, NO_GROUP, 0, 2, 2, NO_GROUP])
    expected = adjusted_rand_score([0, 1, 1, 2], [1, 0, 2, 2])
    assert expected < 1
    assert adjusted_rand_index(TRUE, group_of) == pytest.approx(expected)


def test_there_is_none_without_a_structure_or_without_anybody_placed() -> None:
    assert adjusted_rand_index(None, np.zeros(6, np.int64)) is None
    assert adjusted_rand_index(TRUE, np.full(6, NO_GROUP)) is None
