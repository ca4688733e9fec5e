"""Cosines, EDC and MADC against scikit-learn, NumPy's own SVD, and plain loops."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics.pairwise import cosine_similarity

from flexcfl.clustering import cosines, edc, gram, madc, measures
from flexcfl.clustering.measures import between
from flexcfl.protocol import Vectors

SEEDS = st.integers(0, 10**6)
few_times = settings(max_examples=30)


def updates_of(seed: int, clients: int = 9, parameters: int = 40) -> Vectors:
    """Draw updates of different lengths, with directions that differ clearly."""
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((clients, parameters)) * 0.6 ** np.arange(clients)[:, None]
    mixed = rng.standard_normal((clients, clients)) @ basis
    return (mixed * rng.lognormal(0, 0.5, (clients, 1))).astype(np.float32)


def told_apart(updates: Vectors, directions: int) -> bool:
    """Whether the leading directions and their order are clear, beyond rounding."""
    values = np.linalg.svd(updates.astype(np.float64), compute_uv=False)[: directions + 1]
    return bool((np.diff(values) < -0.05 * values[:-1]).all())


def same_up_to_sign(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> None:
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours, theirs * signs, atol=2e-4)


@few_times
@given(SEEDS, st.integers(1, 60))
def test_scalar_products_do_not_depend_on_the_blocks(seed: int, block: int) -> None:
    updates = updates_of(seed)
    expected = updates.astype(np.float64) @ updates.astype(np.float64).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "BLOCK", block)
        np.testing.assert_allclose(gram(updates), expected, rtol=1e-12, atol=1e-12)


def test_scalar_products_do_not_lose_small_numbers_next_to_large_ones() -> None:
    # In float32 the ones would vanish next to 2**24.
    update = np.array([[4096.0, *[1.0] * 5]], dtype=np.float32)
    assert gram(update).item() == 2.0**24 + 5


def test_scalar_products_need_no_copy_of_the_updates() -> None:
    updates = np.ones((100, 200_000), np.float32)
    tracemalloc.start()
    gram(updates)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * updates.nbytes


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_the_diagonal_tells_which_updates_are_not_finite(strange: float) -> None:
    updates = updates_of(0)
    updates[3, 7] = strange
    updates[4, 7] = 0
    finite = np.isfinite(np.diagonal(gram(updates)))
    assert finite.tolist() == [client != 3 for client in range(9)]


@few_times
@given(arrays(np.float32, (5, 4), elements=st.floats(-(2.0**60), 2.0**60, width=32)))
def test_cosines_are_those_of_scikit_learn(updates: Vectors) -> None:
    assume(np.abs(updates).max(axis=1).min() > 1e-12)  # scikit-learn takes less for zero
    found = cosines(gram(updates))
    np.testing.assert_allclose(found, cosine_similarity(updates.astype(np.float64)), atol=1e-12)
    assert np.abs(found).max() <= 1
    assert (np.diagonal(found) == 1).all()


def test_a_zero_update_has_cosine_zero_with_everything() -> None:
    similarity = cosines(gram(np.array([[0, 0], [1, 2]], np.float32)))
    assert similarity.tolist() == [[0, 0], [0, 1]]


@few_times
@given(SEEDS, st.integers(1, 4))
def test_edc_is_the_cosine_to_the_components_of_a_truncated_svd(seed: int, directions: int) -> None:
    updates = updates_of(seed)
    assume(told_apart(updates, directions))
    oracle = TruncatedSVD(directions, algorithm="arpack", random_state=0)
    components = oracle.fit(updates.astype(np.float64)).components_
    expected = cosine_similarity(updates.astype(np.float64), components)
    same_up_to_sign(edc(gram(updates), directions), expected)


@few_times
@given(SEEDS, st.sampled_from([2.0**-40, 0.001, 3.0, 2.0**40]))
def test_edc_does_not_change_when_all_updates_are_rescaled(seed: int, factor: float) -> None:
    updates = updates_of(seed)
    assume(told_apart(updates, 3))
    rescaled = (updates * factor).astype(np.float32)
    same_up_to_sign(edc(gram(rescaled), 3), edc(gram(updates), 3))


@few_times
@given(SEEDS)
def test_edc_does_not_change_when_coordinates_are_rotated_or_permuted(seed: int) -> None:
    updates = updates_of(seed)
    assume(told_apart(updates, 3))
    rng = np.random.default_rng(seed)
    expected = edc(gram(updates), 3)
    rotation = np.linalg.qr(rng.standard_normal((40, 40)))[0].astype(np.float32)
    same_up_to_sign(edc(gram(updates @ rotation), 3), expected)
    same_up_to_sign(edc(gram(updates[:, rng.permutation(40)]), 3), expected)


@few_times
@given(SEEDS)
def test_edc_follows_the_clients_when_they_are_permuted(seed: int) -> None:
    updates = updates_of(seed)
    assume(told_apart(updates, 3))
    order = np.random.default_rng(seed).permutation(len(updates))
    same_up_to_sign(edc(gram(updates[order]), 3), edc(gram(updates), 3)[order])


def test_stretching_one_clients_update_turns_the_directions() -> None:
    updates = updates_of(1)
    stretched = updates.copy()
    stretched[0] *= 30
    before, after = edc(gram(updates), 2), edc(gram(stretched), 2)
    assert np.abs(np.abs(before) - np.abs(after)).max() > 0.1
    # The direction now nearly is that of the long update.
    np.testing.assert_allclose(after[:, 0], cosines(gram(updates))[:, 0], atol=0.05)


def test_the_furthest_cosine_to_each_direction_is_positive() -> None:
    embedding = edc(gram(updates_of(2)), 4)
    furthest = embedding[np.abs(embedding).argmax(axis=0), np.arange(4)]
    assert (furthest > 0).all()


def test_directions_beyond_the_rank_are_zero() -> None:
    updates = np.array([[1, 0, 0], [2, 0, 0], [0, 3, 0]], np.float32)
    embedding = edc(gram(updates), 5)
    np.testing.assert_allclose(embedding, [[0, 1, 0, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0]])


def test_a_zero_update_lies_at_the_origin() -> None:
    updates = updates_of(3)
    updates[2] = 0
    embedding = edc(gram(updates), 3)
    assert not embedding[2].any()
    assert embedding[[0, 1, 3]].all()
    assert not edc(gram(np.zeros((3, 2), np.float32)), 2).any()


def test_very_short_updates_keep_their_cosines() -> None:
    updates = updates_of(4)
    updates[5:] *= np.float32(1e-14)
    exact = updates.astype(np.float64)
    directions = np.linalg.svd(exact)[2][:3]
    same_up_to_sign(edc(gram(updates), 3), cosine_similarity(exact, directions))


def loops(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    clients = len(similarity)
    distances = np.zeros((clients, clients))
    for i in range(clients):
        for j in range(clients):
            others = [z for z in range(clients) if z not in (i, j)]
            if i != j:
                distances[i, j] = np.mean(
                    [abs(similarity[i, z] - similarity[j, z]) for z in others]
                )
    return distances


@few_times
@given(SEEDS, st.integers(3, 9))
def test_madc_is_the_triple_loop(seed: int, clients: int) -> None:
    similarity = cosines(gram(updates_of(seed, clients)))
    np.testing.assert_allclose(madc(similarity), loops(similarity), atol=1e-13)


@few_times
@given(
    arrays(
        np.float32, st.tuples(st.integers(1, 8), st.just(3)), elements=st.floats(-9, 9, width=32)
    )
)
def test_madc_is_symmetric_zero_on_the_diagonal_and_at_most_two(updates: Vectors) -> None:
    distances = madc(cosines(gram(updates)))
    assert (distances == distances.T).all()
    assert not np.diagonal(distances).any()
    assert distances.min() >= 0
    assert distances.max() <= 2


@pytest.mark.parametrize("clients", [1, 2])
def test_madc_is_zero_where_there_is_nobody_else(clients: int) -> None:
    distances = madc(cosines(gram(updates_of(0, clients))))
    assert distances.tolist() == np.zeros((clients, clients)).tolist()


def test_madc_never_holds_all_triples() -> None:
    similarity = cosines(gram(updates_of(0, 200, 10)))
    between(similarity[:3])  # imports on the first use are not counted
    tracemalloc.start()
    madc(similarity)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * similarity.nbytes  # all triples would be 200 times as much
