"""The pool's rows, held to plain indexing and to the plain definition of variants."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.data.variants import TURNS, Variants
from flexcfl.engine.example_pool import ExamplePool
from tests.engine.worlds import EXAMPLES, random_rows, random_variants, sample

IMAGES = [(8, 8), (1, 8, 8), (3, 5, 5), (2, 3, 4, 4)]
OTHERS = [(7,), (6, 1), (2, 3, 5)]
SHAPES = st.sampled_from([*IMAGES, *OTHERS])
ROWS = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)
DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(
            not torch.cuda.is_available(), reason="there is no CUDA device here"
        ),
    ),
]


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=100)
@given(shape=SHAPES, count=ROWS, labellings=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_rows_are_those_of_the_plain_definition(
    device: str, shape: tuple[int, ...], count: tuple[int, ...], labellings: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    (x, y), variants = sample(shape, rng), random_variants(labellings, rng)
    rows = random_rows(count, variants, TURNS if shape in IMAGES else 1, rng)
    expected_x, expected_y = variants.gather(x, y, rows)
    own_x, own_y, own_rows = (torch.tensor(array, device=device) for array in (x, y, rows))
    pool = ExamplePool(own_x, own_y, variants)
    np.testing.assert_array_equal(pool.inputs(own_rows).cpu().numpy(), expected_x)
    np.testing.assert_array_equal(pool.labels(own_rows).cpu().numpy(), expected_y)
    np.testing.assert_array_equal(own_x.cpu().numpy(), x)  # what is turned is never the pool


@settings(max_examples=50)
@given(shape=SHAPES, count=ROWS, seed=st.integers(0, 2**32))
def test_without_variants_rows_are_indices(
    shape: tuple[int, ...], count: tuple[int, ...], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, y = sample(shape, rng)
    rows = rng.integers(EXAMPLES, size=count)
    pool = ExamplePool(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_array_equal(pool.inputs(torch.from_numpy(rows)).numpy(), x[rows])
    np.testing.assert_array_equal(pool.labels(torch.from_numpy(rows)).numpy(), y[rows])


def test_rows_beyond_the_pool_are_a_mistake_without_variants() -> None:
    x, y = (torch.from_numpy(array) for array in sample((8, 8), np.random.default_rng(0)))
    for gather in (ExamplePool(x, y).inputs, ExamplePool(x, y).labels):
        with pytest.raises(IndexError):
            gather(torch.tensor([EXAMPLES]))


def test_turns_go_counter_clockwise() -> None:
    x, y = torch.arange(4.0).view(1, 2, 2), torch.zeros(1, dtype=torch.int64)
    seen = ExamplePool(x, y, Variants(1, np.arange(2)[np.newaxis])).inputs(torch.arange(TURNS))
    assert seen.flatten(1).tolist() == [[0, 1, 2, 3], [1, 3, 0, 2], [3, 2, 1, 0], [2, 0, 3, 1]]


def test_labellings_that_may_only_be_read_are_enough() -> None:
    labellings = np.array([[0, 1], [1, 0]])
    labellings.flags.writeable = False
    x, y = torch.zeros(1, 2, 2), torch.zeros(1, dtype=torch.int64)
    assert ExamplePool(x, y, Variants(1, labellings)).labels(torch.tensor([0, TURNS])).tolist() == [
        0,
        1,
    ]


def test_rows_outside_of_the_pool_never_reach_what_is_compiled() -> None:
    pool = ExamplePool(torch.zeros(5, 1, 2, 2), torch.zeros(5, dtype=torch.int64))
    for rows in ([5], [0, -1]):
        with pytest.raises(IndexError, match="between 0 and 4"):
            pool.check(np.array(rows))
