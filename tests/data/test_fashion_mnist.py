from pathlib import Path

import numpy as np
import pytest

from flexcfl.data.fashion_mnist import FashionOptions, load_fashion, published_fashion
from flexcfl.errors import DataError

TRAIN = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 6000))
TEST = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 1000))
LABELS = np.concatenate([TRAIN, TEST])


def test_the_published_seed_gives_the_published_number_of_samples() -> None:
    train, test = published_fashion(TRAIN, TEST, seed=233)
    assert (len(train), len(test)) == (500, 500)
    assert (int(train.sizes.sum()), int(test.sizes.sum())) == (61_251, 11_254)
    assert train.sizes.sum() + test.sizes.sum() == 72_505


def test_training_and_test_images_stay_apart() -> None:
    train, test = published_fashion(TRAIN, TEST, seed=233)
    assert train.indices.max() < 60_000 <= test.indices.min()
    assert test.indices.max() < 70_000
    for client in range(500):
        classes = {(client + j) % 10 for j in range(5)}
        assert set(LABELS[train[client]].tolist()) == classes
        assert set(LABELS[test[client]].tolist()) == classes


def test_images_are_dealt_in_the_order_that_is_written_down() -> None:
    """The specification again, as one plain loop."""
    rng = np.random.RandomState(7)
    sizes = rng.lognormal(3, 1, 500) + 10
    sizes = 60_000 * sizes / sizes.sum()
    pointers = np.zeros((2, 10), dtype=int)
    train, test = published_fashion(TRAIN, TEST, seed=7)
    for client in range(500):
        shares = rng.lognormal(1, 1, 5)
        shares = shares / shares.sum()
        expected: list[list[int]] = [[], []]
        for j in range(5):
            class_ = (client + j) % 10
            counts = (int(shares[j] * sizes[client]) + 1, int(shares[j] * sizes[client] / 6) + 1)
            for part, (labels, count) in enumerate(zip((TRAIN, TEST), counts, strict=True)):
                members = np.flatnonzero(labels == class_) + part * 60_000
                if pointers[part, class_] + count > len(members):
                    pointers[part, class_] = 0
                start = pointers[part, class_]
                expected[part] += members[start : start + count].tolist()
                pointers[part, class_] += count
        assert train[client].tolist() == expected[0]
        assert test[client].tolist() == expected[1]


def test_a_pool_too_small_for_the_published_partition_is_refused() -> None:
    with pytest.raises(DataError, match=r"needs \d+ images of class \d, there are \d+"):
        published_fashion(TRAIN[:1000], TEST, seed=233)


def test_small_files_can_be_divided_anew(small_files: Path) -> None:
    options = FashionOptions("dirichlet", clients=30, concentration=0.1, test_share=0.3)
    federation = load_fashion(options, small_files)
    assert federation.clients == 30
    assert sorted([*federation.train.indices, *federation.test.indices]) == list(range(500))


def test_the_real_files_are_standardised_by_the_training_images(real_data: Path) -> None:
    federation = load_fashion(FashionOptions(), real_data)
    assert federation.train.sizes.sum() + federation.test.sizes.sum() == 72_505
    assert federation.x.shape == (70_000, 1, 28, 28)
    assert federation.x.flags.c_contiguous
    means = federation.x[:60_000].mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(means, 0, atol=1e-3)
    assert abs(federation.x[60_000:].mean(axis=0, dtype=np.float64)).max() > 1e-2
