import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets

from flexcfl.data.digits import DigitsOptions, load_digits


def test_a_hundred_clients_have_two_neighbouring_digits_each() -> None:
    federation = load_digits(DigitsOptions())
    assert federation.clients == 100
    for client in range(100):
        both = np.concatenate([federation.train[client], federation.test[client]])
        assert set(federation.y[both].tolist()) == {client % 10, (client + 1) % 10}


def test_every_image_is_used_exactly_once_and_every_client_is_tested() -> None:
    federation = load_digits(DigitsOptions())
    used = [*federation.train.indices.tolist(), *federation.test.indices.tolist()]
    assert sorted(used) == list(range(1797))
    assert federation.test.sizes.min() >= 1


def test_sizes_are_mildly_unequal() -> None:
    sizes = load_digits(DigitsOptions()).train.sizes
    assert 1.2 < sizes.max() / np.median(sizes) < 5
    assert sizes.min() >= 4


def test_images_are_small_and_of_unit_range() -> None:
    federation = load_digits(DigitsOptions())
    assert federation.x.shape == (1797, 1, 8, 8)
    assert federation.x.dtype == np.float32
    assert federation.x.flags.c_contiguous
    assert (float(federation.x.min()), float(federation.x.max())) == (0, 1)
    assert federation.classes == 10


@settings(max_examples=10)
@given(st.integers(1, 1797), st.integers(0, 2**32 - 1))
def test_any_number_of_clients_up_to_that_of_the_images_can_be_had(clients: int, seed: int) -> None:
    federation = load_digits(DigitsOptions("dirichlet", seed, clients, concentration=1e-3))
    assert federation.clients == clients
    assert federation.train.sizes.min() >= 1


def test_they_are_those_of_scikit_learn() -> None:
    federation, digits = load_digits(DigitsOptions()), datasets.load_digits()
    np.testing.assert_array_equal(federation.x[:, 0], (digits.images / 16).astype(np.float32))
    np.testing.assert_array_equal(federation.y, digits.target)
