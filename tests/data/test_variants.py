"""Rows beyond the pool: the same examples, seen in another way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.data.variants import TURNS, Variants

LABELLINGS = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])


@given(st.integers(1, 10**6), st.data())
def test_rows_and_parts_are_inverse(examples: int, data: st.DataObject) -> None:
    variants = Variants(examples, LABELLINGS)
    each = st.tuples(st.integers(0, examples - 1), st.integers(0, 2), st.integers(0, TURNS - 1))
    drawn = data.draw(st.lists(each, max_size=10))
    indices, labelling, turns = np.array(drawn, dtype=np.int64).reshape(-1, 3).T
    rows = variants.rows(indices, labelling, turns)
    assert rows.dtype == np.int64
    for part, back in zip((indices, labelling, turns), variants.parts(rows), strict=True):
        assert back.tolist() == part.tolist()
    assert len(set(rows.tolist())) == len(set(drawn))


def test_rows_of_the_pool_are_its_indices() -> None:
    indices = np.array([3, 0, 4])
    assert Variants(5, LABELLINGS).rows(indices, 0, 0).tolist() == [3, 0, 4]


def test_rows_broadcast() -> None:
    rows = Variants(5, LABELLINGS).rows(np.array([1, 2]), labelling=np.array([[0], [2]]), turns=1)
    assert rows.tolist() == [[6, 7], [46, 47]]


def test_labels_mean_what_the_labelling_says() -> None:
    variants, y = Variants(3, LABELLINGS), np.array([0, 1, 2])
    for labelling, meaning in enumerate(LABELLINGS):
        rows = variants.rows(np.arange(3), labelling, turns=[0, 1, 3])
        assert variants.labels(y, rows).tolist() == meaning.tolist()


def test_a_quarter_turn_goes_counter_clockwise() -> None:
    x = np.array([[[1, 2], [3, 4]]], dtype=np.float32)
    variants = Variants(1, LABELLINGS)
    seen, _ = variants.gather(x, np.array([0]), variants.rows(0, 0, np.arange(4)))
    assert seen.tolist() == [
        [[1, 2], [3, 4]],
        [[2, 4], [1, 3]],
        [[4, 3], [2, 1]],
        [[3, 1], [4, 2]],
    ]


@given(st.sampled_from([(3, 3), (2, 3, 3)]), st.lists(st.integers(0, 59), max_size=12))
def test_gathering_one_by_one_gives_the_same(shape: tuple[int, ...], drawn: list[int]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((5, *shape), dtype=np.float32), np.array([0, 1, 2, 1, 0])
    variants, rows = Variants(5, LABELLINGS), np.array(drawn, dtype=np.int64)
    before = x.copy()
    seen, labels = variants.gather(x, y, rows)
    assert seen.shape == (len(rows), *shape)
    for row, image, label in zip(drawn, seen, labels, strict=True):
        way, index = divmod(row, 5)
        labelling, turns = divmod(way, 4)
        channels = x[index].reshape(-1, 3, 3)
        turned = [np.rot90(channel, turns) for channel in channels]
        assert np.array_equal(image.reshape(-1, 3, 3), turned)
        assert label == LABELLINGS[labelling, y[index]]
    assert np.array_equal(x, before)


def test_examples_that_are_no_images_can_be_gathered_unturned() -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 2])
    variants = Variants(3, LABELLINGS)
    seen, labels = variants.gather(x, y, variants.rows([2, 0], 1, 0))
    assert seen.tolist() == [[4, 5], [0, 1]]
    assert labels.tolist() == [0, 1]
