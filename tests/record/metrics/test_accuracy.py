"""Accuracy over a federation."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from flexcfl.protocol import Evaluated
from flexcfl.record.metrics import accuracy


def evaluated(hits: list[int], examples: list[int]) -> Evaluated:
    return Evaluated(
        np.arange(len(hits)), np.zeros(len(hits)), np.array(hits, int), np.array(examples, int)
    )


def test_it_is_scikit_learns_over_all_examples_together() -> None:
    rng = np.random.default_rng(0)
    sizes = [1, 10, 100]
    truth = [rng.integers(3, size=size) for size in sizes]
    guess = [rng.integers(3, size=size) for size in sizes]
    hits = [int((a == b).sum()) for a, b in zip(truth, guess, strict=True)]
    expected = accuracy_score(np.concatenate(truth), np.concatenate(guess))
    assert accuracy(evaluated(hits, sizes)) == pytest.approx(expected)


def test_only_those_chosen_count() -> None:
    found = evaluated([1, 5, 9], [10, 10, 30])
    assert accuracy(found, np.array([True, False, True])) == 10 / 40
    assert accuracy(found, np.zeros(3, np.bool_)) is None


def test_without_test_data_there_is_none() -> None:
    assert accuracy(evaluated([0, 0], [0, 0])) is None
    assert accuracy(evaluated([], [])) is None
