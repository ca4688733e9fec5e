from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import flexcfl
from flexcfl.data import by_owner, from_arrays, split
from flexcfl.errors import SettingsError
from flexcfl.seeds import generator
from tests.data.own import CLASSES, Clients, clients, pool

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 0])
OWNER = ["bob", "ann", "ann", "bob", "ann", "bob"]


def test_owners_become_clients_in_sorted_order_with_their_names() -> None:
    federation = from_arrays(X, Y, OWNER, test=[True, True, False, False, False, False])
    assert (federation.name, federation.names) == ("mine", ("ann", "bob"))
    assert (federation.classes, federation.shape) == (3, (2,))
    assert [own.tolist() for own in federation.train] == [[2, 4], [3, 5]]
    assert [own.tolist() for own in federation.test] == [[1], [0]]


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        ([0, 1, 1, 0, 2, 2], ()),
        (np.array([0, 1, 1, 0, 2, 2], np.uint8), ()),
        ([5, 7, 7, 5, 9, 9], ("5", "7", "9")),
        ([1, 2, 2, 1, 3, 3], ("1", "2", "3")),
        (np.array(list("bccbaa"), dtype=object), ("a", "b", "c")),
        (torch.tensor([0, 1, 1, 0, 2, 2]), ()),
    ],
)
def test_clients_that_are_numbered_from_0_need_no_names(owner: Any, names: tuple[str, ...]) -> None:
    federation = from_arrays(X, Y, owner)
    assert federation.names == names
    assert federation.clients == 3


@given(clients(), st.integers(0, 99), st.sampled_from([0.1, 0.2, 0.5, 0.9]))
def test_everybodys_examples_are_divided_as_split_divides_them(
    own: Clients, seed: int, share: float
) -> None:
    x, y, owner = pool(own)
    federation = from_arrays(x, y, owner, seed=seed, test_share=share, classes=CLASSES)
    train, test = split(by_owner(owner), share, generator(seed, "split"))
    for ours, theirs in ((federation.train, train), (federation.test, test)):
        assert [own.tolist() for own in ours] == [sorted(own.tolist()) for own in theirs]


@given(clients(), st.randoms(use_true_random=False))
def test_whose_examples_are_whose_does_not_depend_on_the_order_of_the_pool(
    own: Clients, random: Any
) -> None:
    x, y, owner = pool(own)
    order = list(range(len(y)))
    random.shuffle(order)
    test = np.zeros(len(y), dtype=np.bool_)
    federation = from_arrays(x[order], y[order], owner[order], test=test, classes=CLASSES)
    for (mine, _), indices in zip(own.values(), federation.train, strict=True):
        assert sorted(mine.tolist()) == sorted(federation.x[indices].tolist())
    assert federation.test.sizes.sum() == 0


def test_other_seeds_divide_otherwise_and_the_same_one_alike() -> None:
    x, y, owner = np.zeros((60, 1)), np.zeros(60, int), np.arange(60) % 2
    tests = [from_arrays(x, y, owner, seed=seed).test.indices.tolist() for seed in (1, 1, 2)]
    assert tests[0] == tests[1] != tests[2]


def test_what_is_given_in_our_types_is_not_copied() -> None:
    federation = from_arrays(X, Y, OWNER)
    assert federation.x is X
    assert federation.y is Y


@pytest.mark.parametrize(
    "x", [X.tolist(), torch.from_numpy(X), [*X], np.array([*X, None], dtype=object)[:6]]
)
def test_examples_may_come_in_any_form_that_makes_an_array(x: Any) -> None:
    np.testing.assert_array_equal(from_arrays(x, Y.tolist(), OWNER).x, X)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"test_share": 1.0}, "from_arrays test_share must be less than 1, not 1.0."),
        ({"test_share": 0}, "from_arrays test_share must be greater than 0, not 0."),
        ({"seed": -1}, "from_arrays seed must be greater than or equal to 0, not -1."),
    ],
)
def test_settings_are_checked(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as told:
        from_arrays(X, Y, OWNER, **changes)
    assert str(told.value) == sentence


def test_an_argument_of_another_name_is_answered_with_ours() -> None:
    words: dict[str, Any] = {"random_state": 1}
    with pytest.raises(SettingsError, match=r"^from_arrays\(\) has no argument .*mean 'seed'\?$"):
        from_arrays(X, Y, OWNER, **words)


def test_it_can_be_trained_on_and_names_are_kept() -> None:
    rng = np.random.default_rng(0)
    owner = np.array(["ann", "bob", "cleo", "dan"]).repeat(30)
    mine = from_arrays(rng.normal(size=(120, 4)), rng.integers(3, size=120), owner)
    run = flexcfl.run(dataset=mine, rounds=1, groups=2)
    assert run.summary["dataset"] == "mine"
    assert run.names == ("ann", "bob", "cleo", "dan")
