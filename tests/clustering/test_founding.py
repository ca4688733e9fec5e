"""Founders' updates become groups (Algorithm 3), and what cannot be grouped is reported."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score

from flexcfl.clustering import MEASURES, cluster, cosines, edc, gram, madc, within
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.protocol import Clustering, Vectors
from tests.clustering.constructed import Constructed, linear_clients, noisy_vectors

each_measure = pytest.mark.parametrize("measure", MEASURES)


@pytest.fixture
def federation() -> Constructed:
    return noisy_vectors(4, 48, seed=0, cosine=0.5)


def clustered(federation: Constructed, measure: str = "edc", seed: int = 0) -> Clustering:
    rng = np.random.default_rng(seed)
    return cluster(federation.clients, federation.updates, federation.groups, measure, rng)


def refused(updates: Vectors, groups: int = 2) -> str:
    with pytest.raises(TrainingError) as error:
        cluster(np.arange(len(updates)) + 70, updates, groups, "edc", np.random.default_rng(0))
    return str(error.value)


@each_measure
def test_groups_of_clients_that_really_train_are_recovered(measure: str) -> None:
    federation = linear_clients(4, 40, seed=3)
    found = clustered(federation, measure)
    assert adjusted_rand_score(federation.truth, found.group_of) == 1


@each_measure
def test_what_a_clustering_holds(measure: str, federation: Constructed) -> None:
    found = clustered(federation, measure)
    assert found.clients.tolist() == federation.clients.tolist()
    assert found.groups == 4
    assert adjusted_rand_score(federation.truth, found.group_of) == 1
    products = gram(federation.updates)
    np.testing.assert_array_equal(found.embedding, edc(products, 4))
    assert found.within == within(found.embedding, found.group_of)


def test_each_measure_has_the_silhouette_of_its_own_distances(federation: Constructed) -> None:
    by_edc, by_madc = clustered(federation, "edc"), clustered(federation, "madc")
    expected = silhouette_score(by_edc.embedding, by_edc.group_of)
    assert by_edc.silhouette == pytest.approx(expected, abs=1e-6)
    distances = madc(cosines(gram(federation.updates)))
    expected = silhouette_score(distances, by_madc.group_of, metric="precomputed")
    assert by_madc.silhouette == pytest.approx(expected)


@each_measure
def test_groups_are_numbered_by_first_appearance(measure: str, federation: Constructed) -> None:
    for seed in range(3):
        group_of = clustered(federation, measure, seed).group_of
        assert np.unique(group_of, return_index=True)[1].tolist() == sorted(
            np.flatnonzero(group_of == group)[0] for group in range(4)
        )
        assert group_of[0] == 0
        assert group_of.dtype == np.int64


@pytest.mark.slow
@each_measure
def test_the_number_of_groups_can_be_found(measure: str, federation: Constructed) -> None:
    rng = np.random.default_rng(0)
    found = cluster(federation.clients, federation.updates, "auto", measure, rng, 6)
    assert found.groups == 4
    assert found.embedding.shape == (48, 4)
    assert adjusted_rand_score(federation.truth, found.group_of) == 1


@each_measure
@pytest.mark.parametrize("groups", [1, 32])
def test_one_group_and_one_client_a_group(measure: str, groups: int) -> None:
    federation = noisy_vectors(1, 32, seed=0)
    rng = np.random.default_rng(0)
    found = cluster(federation.clients, federation.updates, groups, measure, rng)
    assert np.unique(found.group_of).tolist() == list(range(groups))
    assert found.silhouette is None


@each_measure
def test_a_client_alone_is_a_group(measure: str) -> None:
    update = np.ones((1, 3), np.float32)
    found = cluster(np.array([9]), update, 1, measure, np.random.default_rng(0))
    assert (found.group_of.tolist(), found.embedding.tolist()) == ([0], [[1.0]])
    assert (found.within, found.silhouette) == (0.0, None)


@each_measure
def test_a_zero_update_is_put_somewhere(measure: str, federation: Constructed) -> None:
    federation.updates[5] = 0
    found = clustered(federation, measure)
    others = federation.clients != 5
    assert adjusted_rand_score(federation.truth[others], found.group_of[others]) == 1
    assert np.isfinite(found.embedding).all()


def test_the_updates_are_left_alone(federation: Constructed) -> None:
    before = federation.updates.copy()
    federation.updates.flags.writeable = False
    clustered(federation)
    np.testing.assert_array_equal(federation.updates, before)


def test_more_groups_than_clients_are_reported() -> None:
    told = "The updates of 3 clients cannot be divided into 4 groups: ask for fewer groups"
    assert told in refused(np.eye(3, dtype=np.float32), 4)
    assert "The updates of 0 clients" in refused(np.empty((0, 3), np.float32), 1)


def test_updates_without_any_direction_are_reported() -> None:
    assert "too few for 2 groups" in refused(np.zeros((4, 3), np.float32))


@pytest.mark.parametrize("strange", [np.nan, np.inf])
def test_an_update_that_is_not_finite_is_reported_with_its_client(strange: float) -> None:
    updates = np.eye(4, dtype=np.float32)
    updates[2, 1] = strange
    assert "The update of client 72 is not finite" in refused(updates)


def test_an_unknown_measure_is_reported() -> None:
    with pytest.raises(SettingsError, match="no measure 'mdac': did you mean 'madc'"):
        cluster(np.arange(2), np.eye(2, dtype=np.float32), 2, "mdac", np.random.default_rng(0))


def test_importing_the_package_does_not_wait_for_scikit_learn() -> None:
    heavy = "{'scipy', 'sklearn', 'torch'}"
    program = f"import sys, flexcfl.clustering; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
