"""Validity indices against scikit-learn and small cases by hand."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_samples, silhouette_score

from flexcfl.clustering import silhouette, within, worst_silhouette
from flexcfl.clustering.measures import Matrix, between
from flexcfl.protocol import Ids


@pytest.fixture
def points() -> Matrix:
    return np.random.default_rng(0).uniform(-1, 1, (20, 3))


@pytest.fixture
def group_of() -> Ids:
    return np.arange(20) % 4


def test_the_sum_of_squares_of_two_pairs() -> None:
    assert within(np.array([[0.0], [2.0], [5.0], [5.0]]), np.array([0, 0, 1, 1])) == 2.0


def test_the_sum_of_squares_is_what_k_means_minimises(points: Matrix) -> None:
    fitted = KMeans(3, n_init=1, random_state=0).fit(points)
    assert within(points, fitted.labels_) == pytest.approx(fitted.inertia_)


def test_the_silhouette_is_that_of_scikit_learn(points: Matrix, group_of: Ids) -> None:
    expected = silhouette_score(points, group_of)
    assert silhouette(between(points), group_of) == pytest.approx(expected)


def test_the_worst_group_has_the_lowest_mean_silhouette(points: Matrix, group_of: Ids) -> None:
    each = silhouette_samples(points, group_of)
    expected = min(each[group_of == group].mean() for group in range(4))
    assert worst_silhouette(between(points), group_of) == pytest.approx(expected)


@pytest.mark.parametrize("numbers", [[0, 0, 0], [0, 1, 2]])
def test_one_group_or_one_client_a_group_have_no_silhouette(numbers: list[int]) -> None:
    distances = between(np.array([[0.0], [1.0], [5.0]]))
    assert silhouette(distances, np.array(numbers)) is None
    assert worst_silhouette(distances, np.array(numbers)) is None
