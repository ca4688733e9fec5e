"""The partitions of the literature, held against what is written down of them."""

import numpy as np
import pytest

from flexcfl.data.published_partitions import (
    published_fashion,
    published_femnist,
    published_mnist,
    split_as_published,
)
from flexcfl.errors import DataError, SettingsError

# How many images of each class there are: of MNIST in training and test together, of the letters
# a to j in the test part of EMNIST ByClass.
MNIST_COUNTS = [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
FEMNIST_COUNTS = [1644, 853, 432, 1683, 4092, 400, 589, 1479, 427, 317]
MNIST_LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), MNIST_COUNTS))
FEMNIST_LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), FEMNIST_COUNTS))
FASHION_TRAIN = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 6000))
FASHION_TEST = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 1000))
FASHION_LABELS = np.concatenate([FASHION_TRAIN, FASHION_TEST])


def test_the_published_seed_of_mnist_gives_the_published_number_of_samples() -> None:
    train, test = published_mnist(MNIST_LABELS, seed=733, classes_per_client=2)
    assert (int(train.sizes.sum()), int(test.sizes.sum())) == (61_665, 7_370)
    assert len(train) == len(test) == 1000
    assert np.median(train.sizes) == 24
    assert train.sizes.max() == 1174
    assert test.sizes.min() >= 1


@pytest.mark.parametrize("classes_per_client", [1, 2, 3, 5, 10])
def test_clients_of_mnist_own_their_classes_and_share_no_image(classes_per_client: int) -> None:
    train, test = published_mnist(MNIST_LABELS, 733, classes_per_client)
    owned = np.concatenate([train.indices, test.indices])
    assert len(np.unique(owned)) == len(owned)
    for client in range(1000):
        both = np.concatenate([train[client], test[client]])
        expected = {(client + j) % 10 for j in range(classes_per_client)}
        assert set(MNIST_LABELS[both].tolist()) == expected
        assert len(train[client]) == int(0.9 * len(both))


@pytest.mark.parametrize("classes_per_client", [1, 2, 3, 5, 10])
def test_mnist_is_dealt_in_the_order_that_is_written_down(classes_per_client: int) -> None:
    """The specification again, as one plain loop after the other."""
    rng = np.random.RandomState(5)
    members = [np.flatnonzero(class_ == MNIST_LABELS).tolist() for class_ in range(10)]
    drawn = rng.lognormal(0, 2.0, (10, 100, classes_per_client))
    available = np.array(MNIST_COUNTS)[:, None, None]
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
    train, test = published_mnist(MNIST_LABELS, 5, classes_per_client)
    for client in range(1000):
        assert sorted([*train[client], *test[client]]) == sorted(owned[client])


def test_a_seed_decides_everything() -> None:
    first, again = (published_mnist(MNIST_LABELS, 1, 2)[0] for _ in range(2))
    np.testing.assert_array_equal(first.indices, again.indices)
    other = published_mnist(MNIST_LABELS, 2, 2)[0]
    assert first.sizes.tolist() != other.sizes.tolist()


def test_a_pool_too_small_for_mnist_is_refused() -> None:
    with pytest.raises(DataError, match="more than 1000 images of each"):
        published_mnist(MNIST_LABELS[:5000], 733, 2)


def test_more_classes_than_there_are_cannot_be_had() -> None:
    with pytest.raises(SettingsError, match="between 1 and 10, not be 11"):
        published_mnist(MNIST_LABELS, 733, 11)


def test_the_published_seed_of_femnist_gives_the_published_number_of_samples() -> None:
    train, test = published_femnist(FEMNIST_LABELS, seed=748)
    assert (len(train), len(test)) == (200, 200)
    assert (int(train.sizes.sum()), int(test.sizes.sum())) == (16_422, 1_923)
    assert test.sizes.min() >= 1


@pytest.mark.parametrize("seed", [748, 0, 1])
def test_no_image_of_femnist_is_in_both_a_training_and_a_test_set(seed: int) -> None:
    train, test = published_femnist(FEMNIST_LABELS, seed)
    assert not np.intersect1d(train.indices, test.indices).size


def test_clients_of_femnist_have_the_sizes_and_classes_that_are_written_down() -> None:
    train, test = published_femnist(FEMNIST_LABELS, seed=748)
    drawn = np.random.RandomState(748).lognormal(4, 1, 200) + 5
    for client in range(200):
        each = max(int(drawn[client] / 3), 2)
        labels = FEMNIST_LABELS[np.concatenate([train[client], test[client]])]
        expected = {(client + j) % 10: each for j in range(3)}
        classes, counts = np.unique(labels, return_counts=True)
        assert dict(zip(classes.tolist(), counts.tolist(), strict=True)) == expected
        assert len(train[client]) == int(0.9 * 3 * each)


def test_an_image_of_femnist_recurs_only_when_all_of_its_pool_are_used() -> None:
    for lists in published_femnist(FEMNIST_LABELS, seed=748):
        for class_ in range(10):
            drawn = lists.indices[FEMNIST_LABELS[lists.indices] == class_]
            uses = np.unique(drawn, return_counts=True)[1]
            assert uses.max() - uses.min() <= 1


def test_both_pools_of_a_class_of_femnist_last_equally_long() -> None:
    train, test = published_femnist(FEMNIST_LABELS, seed=748)
    for class_ in range(10):
        asked, there = [], []
        for lists in (train, test):
            drawn = lists.indices[FEMNIST_LABELS[lists.indices] == class_]
            asked.append(len(drawn))
            there.append(len(np.unique(drawn)))
        if sum(asked) > FEMNIST_COUNTS[class_]:
            assert sum(there) == FEMNIST_COUNTS[class_]
            assert there[1] / FEMNIST_COUNTS[class_] == pytest.approx(
                asked[1] / sum(asked), abs=0.01
            )


def test_a_class_of_femnist_without_two_images_is_refused() -> None:
    with pytest.raises(DataError, match="at least two images of class 3, but there are 1"):
        published_femnist(np.array([0, 0, 1, 1, 2, 2, 3]), seed=748)


def test_the_published_seed_of_fashion_mnist_gives_the_published_number_of_samples() -> None:
    train, test = published_fashion(FASHION_TRAIN, FASHION_TEST, seed=233)
    assert (len(train), len(test)) == (500, 500)
    assert (int(train.sizes.sum()), int(test.sizes.sum())) == (61_251, 11_254)
    assert train.sizes.sum() + test.sizes.sum() == 72_505


def test_training_and_test_images_of_fashion_mnist_stay_apart() -> None:
    train, test = published_fashion(FASHION_TRAIN, FASHION_TEST, seed=233)
    assert train.indices.max() < 60_000 <= test.indices.min()
    assert test.indices.max() < 70_000
    for client in range(500):
        classes = {(client + j) % 10 for j in range(5)}
        assert set(FASHION_LABELS[train[client]].tolist()) == classes
        assert set(FASHION_LABELS[test[client]].tolist()) == classes


def test_fashion_mnist_is_dealt_in_the_order_that_is_written_down() -> None:
    """The specification again, as one plain loop."""
    rng = np.random.RandomState(7)
    sizes = rng.lognormal(3, 1, 500) + 10
    sizes = 60_000 * sizes / sizes.sum()
    pointers = np.zeros((2, 10), dtype=int)
    train, test = published_fashion(FASHION_TRAIN, FASHION_TEST, seed=7)
    for client in range(500):
        shares = rng.lognormal(1, 1, 5)
        shares = shares / shares.sum()
        expected: list[list[int]] = [[], []]
        for j in range(5):
            class_ = (client + j) % 10
            counts = (int(shares[j] * sizes[client]) + 1, int(shares[j] * sizes[client] / 6) + 1)
            for part, (labels, count) in enumerate(
                zip((FASHION_TRAIN, FASHION_TEST), counts, strict=True)
            ):
                members = np.flatnonzero(labels == class_) + part * 60_000
                if pointers[part, class_] + count > len(members):
                    pointers[part, class_] = 0
                start = pointers[part, class_]
                expected[part] += members[start : start + count].tolist()
                pointers[part, class_] += count
        assert train[client].tolist() == expected[0]
        assert test[client].tolist() == expected[1]


def test_a_pool_too_small_for_fashion_mnist_is_refused() -> None:
    with pytest.raises(DataError, match=r"needs \d+ images of class \d, but there are \d+"):
        published_fashion(FASHION_TRAIN[:1000], FASHION_TEST, seed=233)


def test_nine_tenths_rounded_down_are_for_training() -> None:
    owned = [np.arange(size) for size in (1, 9, 10, 11, 19, 20)]
    train, test = split_as_published(owned, np.random.RandomState(0))
    assert train.sizes.tolist() == [0, 8, 9, 9, 17, 18]
    for part, learnt, tested in zip(owned, train, test, strict=True):
        assert sorted([*learnt, *tested]) == part.tolist()


def test_which_ones_are_for_training_is_drawn() -> None:
    def tested(seed: int) -> list[int]:
        lists = split_as_published([np.arange(1000)], np.random.RandomState(seed))[1]
        return sorted(lists[0].tolist())

    assert tested(0) == tested(0) != tested(1)
    assert 300 < np.mean(tested(0)) < 700
