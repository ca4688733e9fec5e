from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity

from flexcfl import seeds
from flexcfl.data import Federation
from flexcfl.data.synthetic import ClustersOptions, SyntheticOptions, load_clusters, load_synthetic
from flexcfl.engine import Engine
from flexcfl.models import build
from flexcfl.protocol import Local
from tests.data.own import uses_every_example_once


def test_the_default_has_the_number_of_samples_that_is_written_down() -> None:
    federation = load_synthetic(SyntheticOptions())
    assert federation.clients == 100
    assert federation.x.shape == (41_159, 60)
    assert federation.train.sizes.sum() + federation.test.sizes.sum() == 41_159
    assert federation.x.dtype == np.float32
    assert federation.x.flags.c_contiguous


def test_draws_are_made_in_the_order_that_is_written_down() -> None:
    """The specification again, client by client, with NumPy's own multivariate normal."""
    alpha, beta, clients = 0.5, 2.0, 7
    federation = load_synthetic(SyntheticOptions(alpha, beta, clients, seed=3))
    rng = np.random.RandomState(3)
    sizes = rng.lognormal(4, 2, clients).astype(int) + 50
    mean_w = rng.normal(0, alpha, clients)
    b = rng.normal(0, beta, clients)
    mean_x = [rng.normal(b[i], 1, 60) for i in range(clients)]
    sigma = np.diag([(j + 1) ** -1.2 for j in range(60)])
    start = 0
    for i in range(clients):
        weights = rng.normal(mean_w[i], 1, (60, 10))
        biases = rng.normal(mean_w[i], 1, 10)
        x = rng.multivariate_normal(mean_x[i], sigma, sizes[i])
        own = slice(start, start + sizes[i])
        # Either sign of an eigenvector is right, and which one comes is up to the platform.
        centred = federation.x[own] - mean_x[i]
        np.testing.assert_allclose(np.abs(centred), np.abs(x - mean_x[i]), rtol=1e-4, atol=1e-5)
        logits = federation.x[own].astype(np.float64) @ weights + biases
        assert (np.argmax(logits, axis=1) == federation.y[own]).mean() > 0.999
        indices = np.sort(np.concatenate([federation.train[i], federation.test[i]]))
        assert indices.tolist() == list(range(start, start + sizes[i]))
        assert len(federation.train[i]) == int(0.9 * sizes[i])
        start += sizes[i]


def test_alpha_and_beta_make_clients_differ() -> None:
    def spread(alpha: float, beta: float) -> float:
        federation = load_synthetic(SyntheticOptions(alpha, beta, 200))
        return float(np.std([federation.x[own].mean() for own in federation.train]))

    assert spread(0, 3) > 5 * spread(0, 0)


@pytest.mark.parametrize("clients", [1, 3])
def test_few_clients_are_enough(clients: int) -> None:
    federation = load_synthetic(SyntheticOptions(clients=clients))
    assert federation.clients == clients
    assert federation.test.sizes.min() >= 5


def structure(federation: Federation) -> NDArray[np.int64]:
    assert federation.structure is not None
    return federation.structure


def accuracy(federation: Federation, clients: NDArray[np.int64]) -> float:
    """Return the test accuracy of one linear model for these clients."""
    train, test = (
        np.concatenate([lists[client] for client in clients])
        for lists in (federation.train, federation.test)
    )
    model = LogisticRegression(max_iter=500).fit(federation.x[train], federation.y[train])
    return float(model.score(federation.x[test], federation.y[test]))


def test_one_model_serves_a_cluster_and_none_serves_all() -> None:
    federation = load_clusters(ClustersOptions())
    own = [np.flatnonzero(structure(federation) == cluster) for cluster in range(3)]
    assert min(accuracy(federation, clients) for clients in own) > 0.9
    assert accuracy(federation, np.arange(90)) < 0.45


def updates(federation: Federation, seed: int) -> NDArray[np.float32]:
    """Return what 50 mini-batches from a common origin make of all clients."""
    make = partial(build, federation.name, "mclr", federation.shape, federation.classes)
    engine = Engine(make, federation.x, federation.y, federation.classes, device="cpu")
    everybody = range(federation.clients)
    return engine.train(
        engine.initial(seeds.generator(seed, "start"))[np.newaxis],
        np.zeros(federation.clients, np.int64),
        federation.train.gathered(np.arange(federation.clients)),
        Local(steps=50, rate=0.1),
        [seeds.generator(seed, "cold-start", 0, client) for client in everybody],
    )[0]


@pytest.mark.parametrize("clusters", [3, 5, 8])
def test_updates_of_different_clusters_point_in_different_directions(clusters: int) -> None:
    federation = load_clusters(ClustersOptions(clusters=clusters))
    truth = structure(federation)
    cosines = cosine_similarity(updates(federation, seed=clusters))
    to_cluster = np.stack([cosines[:, truth == each].mean(axis=1) for each in range(clusters)])
    own = to_cluster[truth, np.arange(90)]
    to_cluster[truth, np.arange(90)] = -1
    assert (own - to_cluster.max(axis=0)).min() > 0.2
    linked = AgglomerativeClustering(clusters, metric="precomputed", linkage="complete")
    assert adjusted_rand_score(truth, linked.fit_predict(1 - cosines)) == 1
    means = KMeans(clusters, n_init=10, random_state=0)
    assert adjusted_rand_score(truth, means.fit_predict(cosines)) == 1


@pytest.mark.parametrize(("clusters", "clients"), [(1, 1), (3, 10), (7, 7), (8, 100)])
def test_clusters_are_of_equal_size_and_in_no_order(clusters: int, clients: int) -> None:
    truth = structure(load_clusters(ClustersOptions(clusters=clusters, clients=clients)))
    members = np.bincount(truth, minlength=clusters)
    assert members.sum() == clients
    assert members.max() - members.min() <= 1
    assert clients <= clusters or truth.tolist() != sorted(truth.tolist())


def test_clusters_have_the_figures_that_were_asked_for() -> None:
    options = ClustersOptions(clients=2000, features=2, classes=4, examples=50, skew=0.5)
    federation = load_clusters(options)
    sizes = federation.train.sizes + federation.test.sizes
    assert np.median(sizes) == pytest.approx(50, rel=0.05)
    assert np.log(sizes).std() == pytest.approx(0.5, rel=0.05)
    assert (federation.shape, federation.classes) == ((2,), 4)
    assert federation.test.sizes.sum() / sizes.sum() == pytest.approx(0.2, abs=0.01)
    assert uses_every_example_once(federation)


def test_noise_is_the_share_of_labels_that_follow_no_rule() -> None:
    plain, noisy = (load_clusters(ClustersOptions(noise=noise)) for noise in (0.0, 0.5))
    np.testing.assert_array_equal(plain.x, noisy.x)
    # Of the labels drawn at random, a tenth are right by chance.
    assert (plain.y != noisy.y).mean() == pytest.approx(0.5 * 0.9, abs=0.02)


def test_the_same_seed_gives_the_same_clusters() -> None:
    one, same, other = (load_clusters(ClustersOptions(seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.x, same.x)
    assert np.array_equal(one.y, same.y)
    assert np.array_equal(structure(one), structure(same))
    assert not np.array_equal(structure(one), structure(other))


def test_the_smallest_clients_of_clusters_can_train_and_test() -> None:
    federation = load_clusters(ClustersOptions(examples=1, skew=2.0))
    assert federation.train.sizes.min() >= 1
    assert federation.test.sizes.min() >= 1
