from typing import Any

import numpy as np
import pytest

from flexcfl.data import Federation, IndexLists, MadeLists
from flexcfl.errors import DataError

X = np.zeros((4, 2), dtype=np.float32)
Y = np.array([0, 1, 1, 0])
BOTH = IndexLists.of([np.array([0, 1]), np.array([2])])
NONE = IndexLists.of([np.array([3]), np.array([], dtype=np.int64)])


def test_a_federation_knows_its_clients_and_shape() -> None:
    federation = Federation("tiny", X, Y, BOTH, NONE, classes=2)
    assert (federation.clients, federation.shape) == (2, (2,))
    assert repr(federation).splitlines() == [
        "Federation 'tiny': clients 2, classes 2",
        "training examples 3, test examples 1",
        "shape of an example 2",
    ]
    assert repr(federation.train) == "IndexLists(clients 2, indices 3)"


def test_examples_and_labels_must_be_as_many() -> None:
    with pytest.raises(DataError, match="'tiny' has 4 examples but 3 labels"):
        Federation("tiny", X, Y[:3], BOTH, NONE, classes=2)


@pytest.mark.parametrize("labels", [[0, 1, 2, 0], [0, 1, -1, 0]])
def test_labels_must_be_of_the_classes(labels: list[int]) -> None:
    with pytest.raises(DataError, match=r"'tiny' has the label (2|-1), outside of 0 to 1"):
        Federation("tiny", X, np.array(labels), BOTH, NONE, classes=2)


@pytest.mark.parametrize("index", [-1, 4])
def test_indices_must_be_of_the_pool(index: int) -> None:
    wrong = IndexLists.of([np.array([0]), np.array([1, index])])
    for lists in ((wrong, NONE), (BOTH, wrong)):
        with pytest.raises(DataError, match=f"example {index}, but the pool has 0 to 3"):
            Federation("tiny", X, Y, *lists, classes=2)


def test_both_splits_must_name_the_same_clients() -> None:
    one = IndexLists.of([np.array([0])])
    with pytest.raises(DataError, match="2 clients for training and 1 for testing"):
        Federation("tiny", X, Y, BOTH, one, classes=2)
    with pytest.raises(DataError, match="0 clients"):
        Federation("tiny", X, Y, IndexLists.of([]), IndexLists.of([]), classes=2)


def test_every_client_needs_a_training_example() -> None:
    with pytest.raises(DataError, match="Client 1 of 'tiny' has no training example"):
        Federation("tiny", X, Y, NONE, BOTH, classes=2)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X.astype(np.float64), Y.astype(np.int32)),
        (X.astype(">f4"), Y.astype(np.uint8)),
        (np.zeros((4, 2), np.uint8), list(Y)),
        (np.zeros((4, 4), np.float32)[:, ::-2], Y[::-1]),
        (X.tolist(), tuple(Y)),
    ],
)
def test_arrays_of_other_types_are_turned_into_ours(x: Any, y: Any) -> None:
    federation = Federation("tiny", x, y, BOTH, NONE, classes=2)
    assert federation.x.dtype == np.float32
    assert federation.y.dtype == np.int64
    assert federation.x.flags.c_contiguous
    np.testing.assert_array_equal(federation.x, np.asarray(x))
    np.testing.assert_array_equal(federation.y, np.asarray(y))


def test_arrays_of_our_types_are_not_copied() -> None:
    federation = Federation("tiny", X, Y, BOTH, NONE, classes=2)
    assert federation.x is X
    assert federation.y is Y


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_examples_must_be_finite(value: float) -> None:
    x = X.copy()
    x[2, 1] = value
    with pytest.raises(DataError, match="NaN or infinity"):
        Federation("tiny", x, Y, BOTH, NONE, classes=2)


@pytest.mark.parametrize("y", [Y.astype(float), Y[:, None], np.array(list("abca"))])
def test_labels_must_be_whole_numbers(y: Any) -> None:
    with pytest.raises(DataError, match="one whole number for each example"):
        Federation("tiny", X, y, BOTH, NONE, classes=2)


@pytest.mark.parametrize("shape", [(4, 0), (4, 3, 0)])
def test_examples_must_hold_a_number(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"'tiny' .* an example must hold at least one number"):
        Federation("tiny", np.zeros(shape, np.float32), Y, BOTH, NONE, classes=2)


@pytest.mark.parametrize(
    "lists", [[[0, 1], [2]], ((0, 1), (2,)), [np.array([0, 1]), [2]], iter([[0, 1], [2]])]
)
def test_plain_lists_of_indices_will_do(lists: Any) -> None:
    federation = Federation("tiny", X, Y, lists, [[3], []], classes=2)  # type: ignore[arg-type]
    assert [own.tolist() for own in federation.train] == [[0, 1], [2]]
    assert [own.tolist() for own in federation.test] == [[3], []]
    assert isinstance(federation.test, IndexLists)


@pytest.mark.parametrize("lists", [None, 3, [0, 1], "ab", [[0.5], [1]], [[True], [1]], [[[0]], []]])
def test_other_things_than_lists_of_indices_are_refused(lists: Any) -> None:
    for train, test in ((lists, NONE), (BOTH, lists)):
        with pytest.raises(DataError, match=r"one list of whole numbers.*IndexLists\.of\.$"):
            Federation("tiny", X, Y, train, test, classes=2)


@pytest.mark.parametrize("classes", [3.0, True, 0, -1, "2", None])
def test_the_number_of_classes_must_be_a_whole_number(classes: Any) -> None:
    with pytest.raises(DataError, match=f"'tiny' must be a whole number .*, not {classes!r}"):
        Federation("tiny", X, Y, BOTH, NONE, classes)


@pytest.mark.parametrize("name", ["", None, 7])
def test_a_federation_needs_a_name(name: Any) -> None:
    with pytest.raises(DataError, match=f"must be a text that is not empty, not {name!r}"):
        Federation(name, X, Y, BOTH, NONE, classes=2)


def test_examples_must_be_numbers() -> None:
    with pytest.raises(DataError, match="no array of numbers"):
        Federation("tiny", [["a"]] * 4, Y, BOTH, NONE, classes=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("structure", [[1, 0], np.array([1, 0], np.uint8), np.array([5, -2])])
def test_the_true_structure_may_be_told(structure: Any) -> None:
    federation = Federation("tiny", X, Y, BOTH, NONE, classes=2, structure=structure)
    assert federation.structure is not None
    assert federation.structure.dtype == np.int64
    assert federation.structure.tolist() == list(structure)
    assert Federation("tiny", X, Y, BOTH, NONE, classes=2).structure is None


@pytest.mark.parametrize("structure", [[0], [0, 1, 2], [[0], [1]], [0.0, 1.0], ["a", "b"], 3, []])
def test_the_true_structure_is_one_whole_number_for_each_client(structure: Any) -> None:
    with pytest.raises(DataError, match=r"'tiny' .* one whole number, .* each of the 2 clients"):
        Federation("tiny", X, Y, BOTH, NONE, classes=2, structure=structure)


NAMED = ("ann", "bob")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y": [0, 1, 2, 0]}, "Client 'bob' of 'tiny' has the label 2, outside of 0 to 1"),
        ({"y": [0, 1, 1, 7]}, "Client 'ann' of 'tiny' has the label 7, outside of 0 to 1"),
        ({"y": [0, 1, 2, 0], "names": ()}, "Client 1 of 'tiny' has the label 2, outside of 0"),
        (
            {"x": [[0.0], [0.0], [np.nan], [0.0]]},
            "Client 'bob' of 'tiny' has NaN or infinity in its example 2 of the pool",
        ),
        (
            {"train": [[0], [1, 9]]},
            "Client 'bob' of 'tiny' lists the example 9, but the pool has 0 to 3",
        ),
        ({"train": [[], [1]]}, "Client 'ann' of 'tiny' has no training example"),
        ({"y": [0, 1, 1, 7], "test": [[], []]}, "'tiny' has the label 7, outside of 0 to 1"),
    ],
)
def test_who_has_what_is_wrong_is_named(changes: dict[str, Any], sentence: str) -> None:
    sound = {"x": X, "y": Y, "train": BOTH, "test": NONE, "classes": 2, "names": NAMED}
    with pytest.raises(DataError) as told:
        Federation("tiny", **{**sound, **changes})
    assert str(told.value).startswith(sentence)


def test_clients_that_are_made_on_demand_are_not_all_made_to_find_one() -> None:
    asked = []

    def make(clients: Any) -> Any:
        asked.append(len(clients))
        return clients % 4

    lists = MadeLists.of(make, sizes=np.ones(1000, dtype=np.int64), examples=4)
    with pytest.raises(DataError, match=r"^'tiny' has the label 5, outside of 0 to 1"):
        Federation("tiny", X, np.array([0, 1, 5, 0]), lists, lists, classes=2)
    assert max(asked) == 2
