import tracemalloc

import numpy as np

from flexcfl.data.images import pixel_statistics, standardised

RNG = np.random.default_rng(0)
PARTS = [
    RNG.integers(0, 256, (700, 28, 28), dtype=np.uint8),
    RNG.integers(0, 256, (300, 28, 28), dtype=np.uint8),
]
PARTS[0][:, 0, 0] = PARTS[1][:, 0, 0] = 7  # a pixel that is the same everywhere


def test_statistics_are_those_of_all_parts_in_double_precision() -> None:
    together = np.concatenate(PARTS).astype(np.float64)
    mean, deviation = pixel_statistics(PARTS)
    np.testing.assert_allclose(mean, together.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(deviation, together.std(axis=0), rtol=1e-9, atol=1e-9)


def test_pixels_are_standardised_into_one_contiguous_pool() -> None:
    together = np.concatenate(PARTS).astype(np.float64)
    pool = standardised(PARTS, *pixel_statistics(PARTS))
    expected = (together - together.mean(axis=0)) / (together.std(axis=0) + 0.001)
    assert pool.shape == (1000, 1, 28, 28)
    assert pool.dtype == np.float32
    assert pool.flags.c_contiguous
    np.testing.assert_allclose(pool[:, 0], expected, rtol=1e-4, atol=1e-5)


def test_a_constant_pixel_becomes_zero() -> None:
    assert (standardised(PARTS, *pixel_statistics(PARTS))[:, 0, 0, 0] == 0).all()


def test_standardising_takes_hardly_more_memory_than_its_result() -> None:
    many = [np.tile(PARTS[0], (10, 1, 1))]
    tracemalloc.start()
    pool = standardised(many, *pixel_statistics(many))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * pool.nbytes
