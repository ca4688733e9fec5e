"""Randomness by name."""

from itertools import combinations

import numpy as np
import pytest

from flexcfl.seeds import generator


def test_everything_that_names_a_generator_matters() -> None:
    names: list[tuple[int, str, tuple[int, ...]]] = [
        (0, "train", ()),
        (0, "train", (0,)),
        (0, "train", (0, 0)),
        (0, "train", (0, 1)),
        (0, "train", (1, 0)),
        (0, "cohort", (0, 0)),
        (1, "train", (0, 0)),
        (2**40, "train", (0, 0)),
    ]
    draws = [
        generator(seed, purpose, *keys).integers(2**62, size=4) for seed, purpose, keys in names
    ]
    assert not any(np.array_equal(one, other) for one, other in combinations(draws, 2))


def test_the_same_name_gives_the_same_draws_whatever_was_drawn_before() -> None:
    first = generator(3, "train", 4, 5)
    generator(3, "other").random(100)
    np.testing.assert_array_equal(first.random(9), generator(3, "train", 4, 5).random(9))


def test_draws_stay_the_same_from_release_to_release() -> None:
    assert generator(0, "train", 1, 2).integers(1000, size=4).tolist() == [799, 755, 310, 270]


@pytest.mark.parametrize("key", [-1, 2**32])
def test_keys_that_could_be_mistaken_for_others_are_refused(key: int) -> None:
    with pytest.raises(ValueError, match="train"):
        generator(0, "train", key)
