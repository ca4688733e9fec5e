from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flexcfl.data.femnist import FemnistOptions, load_femnist, published_femnist
from flexcfl.errors import DataError

WriteIdx = Callable[..., Path]

# How many images of a to j the test part of EMNIST ByClass has.
COUNTS = [1644, 853, 432, 1683, 4092, 400, 589, 1479, 427, 317]
LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(10), COUNTS))


def test_the_published_seed_gives_the_published_number_of_samples() -> None:
    train, test = published_femnist(LABELS, seed=748)
    assert (len(train), len(test)) == (200, 200)
    assert (int(train.sizes.sum()), int(test.sizes.sum())) == (16_422, 1_923)
    assert test.sizes.min() >= 1


@pytest.mark.parametrize("seed", [748, 0, 1])
def test_no_image_is_in_both_a_training_and_a_test_set(seed: int) -> None:
    train, test = published_femnist(LABELS, seed)
    assert not np.intersect1d(train.indices, test.indices).size


def test_clients_have_the_sizes_and_classes_that_are_written_down() -> None:
    train, test = published_femnist(LABELS, seed=748)
    drawn = np.random.RandomState(748).lognormal(4, 1, 200) + 5
    for client in range(200):
        each = max(int(drawn[client] / 3), 2)
        labels = LABELS[np.concatenate([train[client], test[client]])]
        expected = {(client + j) % 10: each for j in range(3)}
        classes, counts = np.unique(labels, return_counts=True)
        assert dict(zip(classes.tolist(), counts.tolist(), strict=True)) == expected
        assert len(train[client]) == int(0.9 * 3 * each)


def test_an_image_recurs_only_when_all_of_its_pool_are_used() -> None:
    for lists in published_femnist(LABELS, seed=748):
        for class_ in range(10):
            drawn = lists.indices[LABELS[lists.indices] == class_]
            uses = np.unique(drawn, return_counts=True)[1]
            assert uses.max() - uses.min() <= 1


def test_both_pools_of_a_class_last_equally_long() -> None:
    train, test = published_femnist(LABELS, seed=748)
    for class_ in range(10):
        asked, there = [], []
        for lists in (train, test):
            drawn = lists.indices[LABELS[lists.indices] == class_]
            asked.append(len(drawn))
            there.append(len(np.unique(drawn)))
        if sum(asked) > COUNTS[class_]:
            assert sum(there) == COUNTS[class_]
            assert there[1] / COUNTS[class_] == pytest.approx(asked[1] / sum(asked), abs=0.01)


def test_a_class_without_two_images_is_refused() -> None:
    with pytest.raises(DataError, match="at least two images of class 3, there are 1"):
        published_femnist(np.array([0, 0, 1, 1, 2, 2, 3]), seed=748)


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


def test_the_real_files_give_the_published_federation(real_data: Path) -> None:
    federation = load_femnist(FemnistOptions(), real_data)
    assert np.bincount(federation.y).tolist() == COUNTS
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
