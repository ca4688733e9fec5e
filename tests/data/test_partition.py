import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexcfl.data.partition import Indices, by_classes, by_owner, dirichlet, iid, split
from flexcfl.errors import DataError, SettingsError

SEEDS = st.integers(0, 2**32 - 1)
CONCENTRATIONS = st.sampled_from([5e-324, 1e-300, 1e-3, 0.1, 1.0, 100.0, 1e300])


@st.composite
def pools(draw: st.DrawFn) -> tuple[NDArray[np.int64], int]:
    """Labels of one to six classes, some of them rare, and a number of clients they can serve."""
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=6))
    names = draw(st.permutations(range(0, 30, 3)))
    labels = np.repeat(names[: len(sizes)], sizes).astype(np.int64)
    shuffled = np.random.default_rng(draw(SEEDS)).permutation(labels)
    ends = st.sampled_from([1, len(labels)])
    return shuffled, draw(st.one_of(ends, st.integers(1, len(labels))))


def assert_partition(lists: list[Indices], clients: int, examples: int) -> None:
    assert len(lists) == clients
    assert min(map(len, lists)) >= 1
    assert sorted(np.concatenate(lists).tolist()) == list(range(examples))


@given(pools(), SEEDS)
def test_iid_deals_every_example_once_in_equal_parts(pool: tuple[Indices, int], seed: int) -> None:
    labels, clients = pool
    lists = iid(labels, clients, np.random.default_rng(seed))
    assert_partition(lists, clients, len(labels))
    assert max(map(len, lists)) - min(map(len, lists)) <= 1


@given(pools(), CONCENTRATIONS, SEEDS)
def test_dirichlet_deals_every_example_once(
    pool: tuple[Indices, int], concentration: float, seed: int
) -> None:
    labels, clients = pool
    lists = dirichlet(labels, clients, concentration, np.random.default_rng(seed))
    assert_partition(lists, clients, len(labels))


@given(pools(), st.integers(1, 6), st.sampled_from([0.0, 0.5, 2.0, 1000.0]), SEEDS)
def test_by_classes_deals_every_example_once_and_no_client_more_classes(
    pool: tuple[Indices, int], wanted: int, skew: float, seed: int
) -> None:
    labels, clients = pool
    classes = len(np.unique(labels))
    per_client = min(wanted, classes)
    rng = np.random.default_rng(seed)
    if clients * per_client < classes:
        with pytest.raises(SettingsError, match="cannot own all"):
            by_classes(labels, clients, per_client, rng, skew)
        return
    lists = by_classes(labels, clients, per_client, rng, skew)
    assert_partition(lists, clients, len(labels))
    owned = [len(np.unique(labels[part])) for part in lists]
    assert max(owned) <= per_client
    # Where every class could serve every client, nobody owns fewer classes than asked.
    if np.unique(labels, return_counts=True)[1].min() >= clients:
        assert min(owned) == per_client


@given(st.lists(st.sampled_from(["ann", "bob", "cleo", "dan"]), min_size=1))
def test_by_owner_gives_each_owner_exactly_its_own(owners: list[str]) -> None:
    lists = by_owner(np.array(owners))
    assert_partition(lists, len(set(owners)), len(owners))
    for name, part in zip(sorted(set(owners)), lists, strict=True):
        assert {owners[index] for index in part} == {name}


@given(pools(), st.floats(1e-9, 1 - 1e-9), SEEDS)
def test_split_gives_all_a_training_and_all_who_can_a_test_example(
    pool: tuple[Indices, int], share: float, seed: int
) -> None:
    labels, clients = pool
    rng = np.random.default_rng(seed)
    lists = iid(labels, clients, rng)
    train, test = split(lists, share, rng)
    for part, learnt, tested in zip(lists, train, test, strict=True):
        assert sorted([*learnt.tolist(), *tested.tolist()]) == part.tolist()
        assert len(learnt) >= 1
        assert len(tested) >= 1 or len(part) == 1


def test_split_takes_the_share_that_was_asked() -> None:
    train, test = split([np.arange(100), np.arange(100, 130)], 0.2, np.random.default_rng(0))
    assert (train.sizes.tolist(), test.sizes.tolist()) == ([80, 24], [20, 6])


def test_client_u_owns_the_classes_from_u_on_where_the_pool_allows() -> None:
    labels = np.arange(2000) % 10
    lists = by_classes(labels, 100, 2, np.random.default_rng(0))
    for client, part in enumerate(lists):
        assert set(labels[part].tolist()) == {client % 10, (client + 1) % 10}


def test_classes_too_rare_for_the_wheel_are_still_shared_as_evenly_as_they_can() -> None:
    labels = np.repeat([0, 1, 2], [2, 500, 500])
    lists = by_classes(labels, 100, 2, np.random.default_rng(0))
    owners = [sum(class_ in labels[part] for part in lists) for class_ in range(3)]
    assert owners == [2, 99, 99]


def test_a_low_concentration_skews_and_a_high_one_does_not() -> None:
    labels = np.arange(10_000) % 10
    spread = []
    for concentration in (0.05, 1e6):
        lists = dirichlet(labels, 10, concentration, np.random.default_rng(1))
        counts = np.array([np.bincount(labels[part], minlength=10) for part in lists])
        spread.append(counts.std(axis=0).mean())
    assert spread[0] > 150
    assert spread[1] < 5


def test_dirichlet_shares_have_the_moments_of_the_distribution() -> None:
    labels = np.zeros(1000, dtype=np.int64)
    rng = np.random.default_rng(0)
    first = [len(dirichlet(labels, 4, 0.5, rng)[0]) / 1000 for _ in range(1000)]
    assert np.mean(first) == pytest.approx(1 / 4, abs=0.03)
    # Var = (1/4)(3/4) / (4 * 0.5 + 1)
    assert np.var(first) == pytest.approx(0.0625, abs=0.01)


def test_a_higher_skew_gives_more_unequal_clients() -> None:
    labels = np.arange(5000) % 10
    sizes = [
        np.std([len(part) for part in by_classes(labels, 100, 2, np.random.default_rng(3), skew)])
        for skew in (0.0, 0.5, 2.0)
    ]
    assert sizes[0] < 1 < sizes[1] < sizes[2]


def test_equal_seeds_give_equal_partitions_and_others_do_not() -> None:
    labels = np.arange(300) % 3

    def drawn(seed: int) -> list[list[int]]:
        rng = np.random.default_rng(seed)
        return [part.tolist() for part in dirichlet(labels, 7, 0.3, rng)]

    assert drawn(5) == drawn(5) != drawn(6)


@pytest.mark.parametrize("clients", [0, -1, 4])
def test_a_number_of_clients_that_the_pool_cannot_serve_is_refused(clients: int) -> None:
    labels, rng = np.array([0, 1, 1]), np.random.default_rng(0)
    sentence = f"3 examples are not enough for {clients} clients: choose between 1 and 3 clients."
    with pytest.raises(DataError, match=sentence):
        iid(labels, clients, rng)
    with pytest.raises(DataError, match=sentence):
        dirichlet(labels, clients, 1.0, rng)
    with pytest.raises(DataError, match=sentence):
        by_classes(labels, clients, 1, rng)


@pytest.mark.parametrize("per_client", [0, 3])
def test_more_classes_per_client_than_classes_are_refused(per_client: int) -> None:
    with pytest.raises(SettingsError, match="must lie between 1 and 2, the number of classes"):
        by_classes(np.array([0, 1, 1]), 2, per_client, np.random.default_rng(0))


@pytest.mark.parametrize("concentration", [0.0, -1.0, np.inf, np.nan])
def test_a_concentration_that_is_no_positive_number_is_refused(concentration: float) -> None:
    with pytest.raises(SettingsError, match="positive number"):
        dirichlet(np.array([0, 1]), 2, concentration, np.random.default_rng(0))


@pytest.mark.parametrize("share", [0.0, 1.0, np.nan])
def test_a_test_share_outside_of_0_and_1_is_refused(share: float) -> None:
    with pytest.raises(SettingsError, match="between 0 and 1"):
        split([np.arange(3)], share, np.random.default_rng(0))


def test_a_client_without_examples_cannot_be_split() -> None:
    with pytest.raises(DataError, match="Client 1 has no examples"):
        split([np.arange(3), np.arange(0)], 0.5, np.random.default_rng(0))


@pytest.mark.slow
def test_as_many_clients_as_mnist_has_images_are_served() -> None:
    labels = np.random.default_rng(0).integers(0, 10, 70_000)
    assert_partition(by_classes(labels, 70_000, 2, np.random.default_rng(0)), 70_000, 70_000)
    assert_partition(dirichlet(labels, 70_000, 1e-3, np.random.default_rng(0)), 70_000, 70_000)
