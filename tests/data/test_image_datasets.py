import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets

from flexcfl.data.image_datasets import (
    DigitsOptions,
    FashionOptions,
    FemnistOptions,
    MnistOptions,
    load_digits,
    load_fashion,
    load_femnist,
    load_mnist,
)
from flexcfl.errors import DataError
from tests.data.conftest import WriteIdx
from tests.data.own import uses_every_example_once
from tests.data.test_published import FEMNIST_COUNTS, MNIST_COUNTS


def test_a_hundred_clients_of_digits_have_two_neighbouring_digits_each() -> None:
    federation = load_digits(DigitsOptions())
    assert federation.clients == 100
    for client in range(100):
        both = np.concatenate([federation.train[client], federation.test[client]])
        assert set(federation.y[both].tolist()) == {client % 10, (client + 1) % 10}


def test_every_digit_is_used_exactly_once_and_every_client_is_tested() -> None:
    federation = load_digits(DigitsOptions())
    assert uses_every_example_once(federation)
    assert federation.test.sizes.min() >= 1


def test_clients_of_digits_are_mildly_unequal() -> None:
    sizes = load_digits(DigitsOptions()).train.sizes
    assert 1.2 < sizes.max() / np.median(sizes) < 5
    assert sizes.min() >= 4


def test_digits_are_small_and_of_unit_range() -> None:
    federation = load_digits(DigitsOptions())
    assert federation.x.shape == (1797, 1, 8, 8)
    assert federation.x.dtype == np.float32
    assert federation.x.flags.c_contiguous
    assert (float(federation.x.min()), float(federation.x.max())) == (0, 1)
    assert federation.classes == 10


@settings(max_examples=10)
@given(st.integers(1, 1797), st.integers(0, 2**32 - 1))
def test_digits_serve_any_number_of_clients_up_to_their_own(clients: int, seed: int) -> None:
    federation = load_digits(DigitsOptions("dirichlet", seed, clients, concentration=1e-3))
    assert federation.clients == clients
    assert federation.train.sizes.min() >= 1


def test_digits_are_those_of_scikit_learn() -> None:
    federation, digits = load_digits(DigitsOptions()), datasets.load_digits()
    np.testing.assert_array_equal(federation.x[:, 0], (digits.images / 16).astype(np.float32))
    np.testing.assert_array_equal(federation.y, digits.target)


def test_small_files_of_mnist_can_be_divided_anew(small_files: Path) -> None:
    federation = load_mnist(MnistOptions("iid", clients=20), small_files)
    assert federation.x.shape == (500, 1, 28, 28)
    assert uses_every_example_once(federation)
    with pytest.raises(DataError, match="choose partition = 'iid'"):
        load_mnist(MnistOptions(), small_files)


def test_the_real_files_of_mnist_give_the_published_federation(real_data: Path) -> None:
    federation = load_mnist(MnistOptions(), real_data)
    assert np.bincount(federation.y).tolist() == MNIST_COUNTS
    assert federation.train.sizes.sum() == 61_665
    assert federation.test.sizes.sum() == 7_370
    assert federation.x.shape == (70_000, 1, 28, 28)
    assert federation.x.dtype == np.float32
    assert federation.x.flags.c_contiguous
    np.testing.assert_allclose(federation.x.mean(axis=0, dtype=np.float64), 0, atol=1e-3)


def test_the_real_files_of_mnist_take_less_memory_than_two_pools(real_data: Path) -> None:
    tracemalloc.start()
    federation = load_mnist(MnistOptions(), real_data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert federation.x.nbytes == 219_520_000
    assert peak < 1.5 * federation.x.nbytes


def test_only_letters_are_taken_and_stand_upright(tmp_path: Path, write_idx: WriteIdx) -> None:
    labels = np.array([35, 36, 45, 46, 0, 61, 40, 41, 37, 38], dtype=np.uint8)
    images = np.zeros((10, 28, 28), dtype=np.uint8)
    images[1, 3, 20] = 255  # stored transposed: column 3, row 20
    write_idx(tmp_path / "emnist/emnist-byclass-test-images-idx3-ubyte", images)
    write_idx(tmp_path / "emnist/emnist-byclass-test-labels-idx1-ubyte", labels)
    federation = load_femnist(FemnistOptions("iid", clients=3), tmp_path)
    assert federation.y.tolist() == [0, 9, 4, 5, 1, 2]
    assert np.argwhere(federation.x).tolist() == [[0, 0, 20, 3]]
    assert federation.x[0, 0, 20, 3] == 1


def test_the_real_files_of_femnist_give_the_published_federation(real_data: Path) -> None:
    federation = load_femnist(FemnistOptions(), real_data)
    assert np.bincount(federation.y).tolist() == FEMNIST_COUNTS
    assert federation.train.sizes.sum() + federation.test.sizes.sum() == 18_345
    assert federation.x.shape == (11_916, 1, 28, 28)
    assert federation.x.dtype == np.float32
    assert federation.x.flags.c_contiguous
    assert (float(federation.x.min()), float(federation.x.max())) == (0, 1)


def test_real_letters_stand_upright(real_data: Path) -> None:
    """A 'd' has its stem, and most of its ink above the middle, on the right-hand side."""
    federation = load_femnist(FemnistOptions(), real_data)
    mean = federation.x[federation.y == 3].mean(axis=0)[0]
    assert mean[:12, 14:].sum() > 1.5 * mean[:12, :14].sum()
    assert mean[:12, 14:].sum() > 1.5 * mean[16:, :7].sum()


def test_fashion_mnist_is_standardised_by_the_training_images(real_data: Path) -> None:
    federation = load_fashion(FashionOptions(), real_data)
    assert federation.train.sizes.sum() + federation.test.sizes.sum() == 72_505
    assert federation.x.shape == (70_000, 1, 28, 28)
    assert federation.x.flags.c_contiguous
    means = federation.x[:60_000].mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(means, 0, atol=1e-3)
    assert abs(federation.x[60_000:].mean(axis=0, dtype=np.float64)).max() > 1e-2
