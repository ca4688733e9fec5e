import numpy as np
import pytest

from flexcfl.data.synthetic import SyntheticOptions, load_synthetic


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
