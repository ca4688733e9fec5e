from typing import Any

import numpy as np
import pytest

from flexcfl.data import Federation, IndexLists, MadeLists
from flexcfl.errors import DataError

X = np.zeros((4, 2), dtype=np.float32)
Y = np.array([0, 1, 1, 0])
BOTH = IndexLists.of([np.array([0, 1]), np.array([2])])
NONE = IndexLists.of([np.array([3]), np.array([], dtype=np.int64)])


def tiny(**changes: Any) -> Federation:
    sound = {"x": X, "y": Y, "train": BOTH, "test": NONE, "classes": 2}
    return Federation(**{"name": "tiny", **sound, **changes})


def test_a_federation_knows_its_clients_and_shape() -> None:
    federation = tiny()
    assert (federation.clients, federation.shape) == (2, (2,))
    assert repr(federation).splitlines() == [
        "Federation 'tiny': clients 2, classes 2",
        "training examples 3, test examples 1",
        "shape of an example 2",
    ]
    assert repr(federation.train) == "IndexLists(clients 2, indices 3)"


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
    federation = tiny(x=x, y=y)
    assert federation.x.dtype == np.float32
    assert federation.y.dtype == np.int64
    assert federation.x.flags.c_contiguous
    np.testing.assert_array_equal(federation.x, np.asarray(x))
    np.testing.assert_array_equal(federation.y, np.asarray(y))


def test_arrays_of_our_types_are_not_copied() -> None:
    federation = tiny()
    assert federation.x is X
    assert federation.y is Y


@pytest.mark.parametrize(
    "lists", [[[0, 1], [2]], ((0, 1), (2,)), [np.array([0, 1]), [2]], iter([[0, 1], [2]])]
)
def test_plain_lists_of_indices_will_do(lists: Any) -> None:
    federation = tiny(train=lists, test=[[3], []])
    assert [own.tolist() for own in federation.train] == [[0, 1], [2]]
    assert [own.tolist() for own in federation.test] == [[3], []]
    assert isinstance(federation.test, IndexLists)


@pytest.mark.parametrize("structure", [[1, 0], np.array([1, 0], np.uint8), np.array([5, -2])])
def test_the_true_structure_may_be_given(structure: Any) -> None:
    federation = tiny(structure=structure)
    assert federation.structure is not None
    assert federation.structure.dtype == np.int64
    assert federation.structure.tolist() == list(structure)
    assert tiny().structure is None


ONE = IndexLists.of([[0]])
NO_CLIENTS = IndexLists.of([])
NO_LISTS = (
    "The lists of a federation must be one list of whole numbers, the indices of examples, "
    "for each client: see IndexLists.of."
)
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"y": Y[:3]}, "'tiny' has 4 examples but 3 labels"),
    *(
        (
            {"y": y},
            f"The labels of 'tiny' are of type {y.dtype} and shape {y.shape}: give one whole "
            "number for each example",
        )
        for y in (Y.astype(float), Y[:, None], np.array(list("abca")))
    ),
    ({"x": [["a"]] * 4}, "The examples of 'tiny' are not an array of numbers"),
    *(
        (
            {"x": np.zeros(shape, np.float32)},
            f"The examples of 'tiny' are of shape {shape[1:]}, and an example must hold at least "
            "one number",
        )
        for shape in ((4, 0), (4, 3, 0))
    ),
    *(
        ({part: lists}, NO_LISTS)
        for lists in (None, 3, [0, 1], "ab", [[0.5], [1]], [[True], [1]], [[[0]], []])
        for part in ("train", "test")
    ),
    *(
        (
            {part: IndexLists.of([[0], [1, index]])},
            f"Client 1 of 'tiny' lists the example {index}, but the pool has 0 to 3",
        )
        for index in (-1, 4)
        for part in ("train", "test")
    ),
    ({"test": ONE}, "'tiny' lists 2 clients for training and 1 for testing"),
    ({"train": NO_CLIENTS, "test": NO_CLIENTS}, "'tiny' lists 0 clients for training and 0"),
    ({"train": NONE, "test": BOTH}, "Client 1 of 'tiny' has no training example"),
    *(
        (
            {"classes": number},
            "The number of classes of 'tiny' must be a whole number of at least 1, not "
            f"{number!r}.",
        )
        for number in (3.0, True, 0, -1, "2", None)
    ),
    *(
        ({"name": name}, f"The name of a federation must be a non-empty string, not {name!r}")
        for name in ("", None, 7)
    ),
    *(
        (
            {"structure": structure},
            f"The structure of 'tiny' is of type {np.asarray(structure).dtype} and shape "
            f"{np.shape(structure)}: give one whole number, its true cluster, for each of the 2 "
            "clients.",
        )
        for structure in ([0], [0, 1, 2], [[0], [1]], [0.0, 1.0], ["a", "b"], 3, [])
    ),
    ({"y": [0, 1, 2, 0]}, "Client 1 of 'tiny' has the label 2, outside of 0 to 1"),
    ({"y": [0, 1, -1, 0]}, "Client 1 of 'tiny' has the label -1, outside of 0 to 1"),
    *(
        (
            {"x": [[0.0], [0.0], [value], [0.0]]},
            "Client 1 of 'tiny' has NaN or infinity in its example 2 of the pool",
        )
        for value in (np.nan, np.inf, -np.inf)
    ),
    ({"train": [[0], [1, 9]]}, "Client 1 of 'tiny' lists the example 9, but the pool has 0 to 3"),
    ({"y": [0, 1, 1, 7]}, "Client 0 of 'tiny' has the label 7, outside of 0 to 1"),
    ({"y": [0, 1, 1, 7], "test": [[], []]}, "'tiny' has the label 7, outside of 0 to 1"),
    ({"names": ("ann",)}, "'tiny' names 1 of 2 clients: name all of them, or none."),
]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_what_does_not_hold_is_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        tiny(**changes)
    assert str(caught.value).startswith(sentence)


def test_clients_with_names_are_called_by_them() -> None:
    for changes, name in (
        ({"y": [0, 1, 2, 0]}, "bob"),
        ({"y": [0, 1, 1, 7]}, "ann"),
        ({"x": [[0.0], [0.0], [np.nan], [0.0]]}, "bob"),
        ({"train": [[0], [1, 9]]}, "bob"),
        ({"train": [[], [1]]}, "ann"),
    ):
        with pytest.raises(DataError, match=f"^Client '{name}' of 'tiny' "):
            tiny(names=("ann", "bob"), **changes)


def test_clients_that_are_made_on_demand_are_not_all_made_to_find_one() -> None:
    asked = []

    def make(clients: Any) -> Any:
        asked.append(len(clients))
        return clients % 4

    lists = MadeLists.of(make, sizes=np.ones(1000, dtype=np.int64), examples=4)
    with pytest.raises(DataError, match=r"^'tiny' has the label 5, outside of 0 to 1"):
        tiny(y=np.array([0, 1, 5, 0]), train=lists, test=lists)
    assert max(asked) == 2
