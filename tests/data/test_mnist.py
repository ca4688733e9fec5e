import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from flexcfl.data.mnist import MnistOptions, load_mnist, published_mnist
from flexcfl.errors import DataError, SettingsError

# How many images of each digit MNIST has, training and test together.
COUNTS = [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), COUNTS))


def test_the_published_seed_gives_the_published_number_of_samples() -> None:
    train, test = published_mnist(LABELS, seed=733, classes_per_client=2)
    assert (int(train.sizes.sum()), int(test.sizes.sum())) == (61_665, 7_370)
    assert len(train) == len(test) == 1000
    assert np.median(train.sizes) == 24
    assert train.sizes.max() == 1174
    assert test.sizes.min() >= 1


@pytest.mark.parametrize("classes_per_client", [1, 2, 3, 5, 10])
def test_clients_own_their_classes_and_share_no_image(classes_per_client: int) -> None:
    train, test = published_mnist(LABELS, 733, classes_per_client)
    owned = np.concatenate([train.indices, test.indices])
    assert len(np.unique(owned)) == len(owned)
    for client in range(1000):
        both = np.concatenate([train[client], test[client]])
        expected = {(client + j) % 10 for j in range(classes_per_client)}
        assert set(LABELS[both].tolist()) == expected
        assert len(train[client]) == int(0.9 * len(both))


@pytest.mark.parametrize("classes_per_client", [1, 2, 3, 5, 10])
def test_images_are_dealt_in_the_order_that_is_written_down(classes_per_client: int) -> None:
    """The specification again, as one plain loop after the other."""
    rng = np.random.RandomState(5)
    members = [np.flatnonzero(class_ == LABELS).tolist() for class_ in range(10)]
    drawn = rng.lognormal(0, 2.0, (10, 100, classes_per_client))
    available = np.array(COUNTS)[:, None, None]
    drawn = (available - 1000) * drawn / drawn.sum((1, 2))[:, None, None]
    owned: list[list[int]] = [[] for _ in range(1000)]
    for client in range(1000):
        for j in range(classes_per_client):
            for _ in range(max(1, 10 // classes_per_client)):
                owned[client].append(members[(client + j) % 10].pop(0))
    for client in range(1000):
        for j in range(classes_per_client):
            class_ = (client + j) % 10
            count = int(drawn[class_, client // 10, j])
            if count <= len(members[class_]):
                owned[client] += members[class_][:count]
                del members[class_][:count]
    train, test = published_mnist(LABELS, 5, classes_per_client)
    for client in range(1000):
        assert sorted([*train[client], *test[client]]) == sorted(owned[client])


def test_a_seed_decides_everything() -> None:
    first, again = (published_mnist(LABELS, 1, 2)[0] for _ in range(2))
    np.testing.assert_array_equal(first.indices, again.indices)
    other = published_mnist(LABELS, 2, 2)[0]
    assert first.sizes.tolist() != other.sizes.tolist()


def test_a_pool_too_small_for_the_published_partition_is_refused() -> None:
    with pytest.raises(DataError, match="more than 1000 images of each"):
        published_mnist(LABELS[:5000], 733, 2)


def test_more_classes_than_there_are_cannot_be_had() -> None:
    with pytest.raises(SettingsError, match="between 1 and 10, not be 11"):
        published_mnist(LABELS, 733, 11)


def test_small_files_can_be_divided_anew(small_files: Path) -> None:
    federation = load_mnist(MnistOptions("iid", clients=20), small_files)
    assert federation.x.shape == (500, 1, 28, 28)
    assert federation.clients == 20
    assert sorted([*federation.train.indices, *federation.test.indices]) == list(range(500))
    with pytest.raises(DataError, match="choose partition = 'iid'"):
        load_mnist(MnistOptions(), small_files)


def test_the_real_files_give_the_published_federation(real_data: Path) -> None:
    federation = load_mnist(MnistOptions(), real_data)
    assert np.bincount(federation.y).tolist() == COUNTS
    assert federation.train.sizes.sum() == 61_665
    assert federation.test.sizes.sum() == 7_370
    assert federation.x.shape == (70_000, 1, 28, 28)
    assert federation.x.dtype == np.float32
    assert federation.x.flags.c_contiguous
    np.testing.assert_allclose(federation.x.mean(axis=0, dtype=np.float64), 0, atol=1e-3)


def test_the_real_files_take_less_memory_than_two_pools(real_data: Path) -> None:
    tracemalloc.start()
    federation = load_mnist(MnistOptions(), real_data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert federation.x.nbytes == 219_520_000
    assert peak < 1.5 * federation.x.nbytes
