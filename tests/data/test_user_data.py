"""Every mistake in custom data gives one sentence that names the client and says what to do."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import IterableDataset, TensorDataset

from flexcfl.data import from_arrays, from_dataset, from_folder, from_partitions
from flexcfl.errors import DataError, DataWarning
from tests.data.own import lay

X, Y = np.zeros((6, 2)), np.array([0, 1, 0, 1, 0, 1])
WHO = ["ann", "ann", "ann", "bob", "bob", "bob"]
ANN = {"x": X, "y": Y}
OF_ANN, OF_BOB = "Client 'ann' of 'mine'", "Client 'bob' of 'mine'"


def changed(values: Any, index: int, value: Any) -> list[Any]:
    return [value if place == index else each for place, each in enumerate(values)]


ARRAYS: list[tuple[dict[str, Any], str]] = [
    (
        {"owner": changed(WHO, 4, np.nan)},
        "'mine' has no owner for the example 4 (nan): name its owner",
    ),
    ({"y": changed(Y, 4, 12), "classes": 10}, f"{OF_BOB} has the label 12, outside of"),
    ({"y": changed(Y, 1, -1)}, f"{OF_ANN} has the label -1, outside of 0 to 1: number"),
    ({"y": changed(Y, 5, 10**7)}, f"{OF_BOB} has the label 10000000, outside of 0 to 9"),
    ({"y": changed(Y, 3, 0.5)}, f"{OF_BOB} has the label 0.5 for the example 3: number"),
    ({"y": changed(Y, 2, "cat")}, f"{OF_ANN} has the label 'cat' for the example 2: nu"),
    ({"y": changed(Y, 3, [1, 2])}, f"{OF_BOB} has the label [1, 2] for the example 3"),
    ({"y": Y.astype(float)}, f"{OF_ANN} has the label 0.0 for the example 0: number the class"),
    ({"y": Y[:, None]}, "The labels of 'mine' are of type int64 and shape (6, 1): give one whole"),
    ({"y": Y[:5]}, "'mine' has 5 labels but 6 owners: every example needs one of each."),
    ({"y": 3}, "The labels of 'mine' are of type int64 and shape (): give one whole number"),
    ({"x": changed(X, 4, [0, np.nan])}, f"{OF_BOB} has NaN or infinity in its example 4"),
    ({"x": changed(X, 2, [0, 1e300])}, f"{OF_ANN} has NaN or infinity in its example 2"),
    ({"x": changed(X, 3, [0, 1, 2])}, f"{OF_BOB} has the example 3 of shape (3,), and"),
    ({"x": changed(X, 3, None)}, f"{OF_BOB} has the example 3 of type NoneType: turn"),
    ({"x": changed(X, 1, ["a", "b"])}, "The examples of 'mine' are of type <U"),
    ({"x": changed(X, 1, [[1], [2, 3]])}, f"{OF_ANN} has the example 1, which is no arr"),
    ({"x": X[:5]}, "'mine' has 5 examples but 6 owners: every example needs one of each."),
    (
        {"x": X + 1j},
        "The examples of 'mine' are of type complex128 and shape (6, 2): give an array",
    ),
    (
        {"x": X[:, :0]},
        "The examples of 'mine' are of shape (0,), and an example must hold at least",
    ),
    (
        {"x": 3.0},
        "The examples of 'mine' are of type float64 and shape (): give an array of numbers",
    ),
    (
        {"owner": changed(WHO, 2, None)},
        "'mine' has no owner for the example 2 (None): name its ow",
    ),
    (
        {"owner": [0, 1, np.nan, 0, 1, 0]},
        "'mine' has no owner for the example 2 (nan): name its ow",
    ),
    (
        {"owner": np.array([0, "a"] * 3, dtype=object)},
        "The owners of 'mine' have no order ('<' not",
    ),
    (
        {"owner": [WHO]},
        "The owners of 'mine' are of shape (1, 6): give one number or name for each",
    ),
    ({"x": [], "y": [], "owner": []}, "The owners of 'mine' are of shape (0,): give one number or"),
    ({"test": [True] * 3 + [False] * 3}, f"{OF_ANN} has no training example: give it"),
    (
        {"test": [0, 1] * 3},
        "test of 'mine' is of type int64 and shape (6,): give True for each test",
    ),
    ({"test": [True]}, "'mine' has 1 flags in test but 6 owners: every example needs one of each."),
    (
        {"classes": 0},
        "The number of classes of 'mine' must be a whole number of at least 1, not 0.",
    ),
    ({"name": ""}, "The name of a federation must be a non-empty string, not ''."),
]


@pytest.mark.parametrize(("changes", "sentence"), ARRAYS)
def test_arrays(changes: dict[str, Any], sentence: str) -> None:
    refuses(lambda: from_arrays(**{"x": X, "y": Y, "owner": WHO, **changes}), sentence)


FOLDERS: list[tuple[dict[str, Any], str]] = [
    (
        {"x": np.zeros((6, 3))},
        "has examples of shape (3,), but those of client 'ann' ('{folder}/ann.npz') have",
    ),
    (
        {"y": Y.astype(float)},
        "has examples of type float64 and labels of type float64 in 1 dimensi",
    ),
    ({"y": Y[:5]}, "has 6 examples but 5 labels: give every example one label."),
    ({"y": np.full(6, -3)}, "has the label -3, outside of 0 to 999999: number the classes from 0"),
    ({"x": X + np.inf}, "has NaN or infinity in its examples: fill in missing values."),
    (
        {"x": X.astype(str)},
        "has examples of type <U32 and labels of type int64 in 1 dimensions: gi",
    ),
    ({"x": X.astype(object)}, "cannot be read as .npz (Object arrays cannot be loaded when"),
    ({"x": X[:0], "y": Y[:0]}, "has no training example: a client needs one."),
    (
        {"y": None},
        "needs the arrays x_train and y_train, and optionally both x_test and y_test",
    ),
    (
        {"x": None, "y": None, "data": X},
        "needs the arrays x_train and y_train, and optionally both x_test",
    ),
    (
        {"x_train": X, "y_train": Y},
        "needs the arrays x_train and y_train, and optionally both",
    ),
    (
        {"x": None, "y": None, "x_train": X, "y_train": Y, "x_test": X},
        "needs the arrays x_train and",
    ),
]


@pytest.mark.parametrize(("changes", "rest"), FOLDERS)
def test_folders(tmp_path: Path, changes: dict[str, Any], rest: str) -> None:
    bob = {name: each for name, each in {**ANN, **changes}.items() if each is not None}
    lay(tmp_path, {"ann": ANN, "bob": bob, "cleo": ANN})
    beginning = f"Client 'bob' ('{tmp_path / 'bob.npz'}') "
    refuses(lambda: from_folder(tmp_path), beginning + rest.format(folder=tmp_path))


@pytest.mark.parametrize(
    ("content", "rest"),
    [
        (b"", "cannot be read as .npz ("),
        (b"no file of NumPy's", "cannot be read as .npz ("),
        (b"PK\x03\x04", "cannot be read as .npz ("),
        (b"\x80\x04N.", "cannot be read as .npz ("),
    ],
)
def test_files_that_are_no_npz(tmp_path: Path, content: bytes, rest: str) -> None:
    lay(tmp_path, {"ann": ANN})
    (tmp_path / "bob.npz").write_bytes(content)
    refuses(lambda: from_folder(tmp_path), f"Client 'bob' ('{tmp_path / 'bob.npz'}') {rest}")


def test_a_single_array_a_folder_by_the_name_of_a_file_and_nothing_at_all(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refuses(lambda: from_folder(tmp_path / "empty"), f"There is no .npz file in '{tmp_path}/empty'")
    refuses(
        lambda: from_folder(tmp_path / "none"), f"There is no folder '{tmp_path}/none': name one"
    )
    refuses(lambda: from_folder("a\0b"), "There is no folder 'a\\x00b': name one with an .npz file")
    with (tmp_path / "ann.npz").open("wb") as stream:
        np.save(stream, X)
    refuses(
        lambda: from_folder(tmp_path),
        f"Client 'ann' ('{tmp_path}/ann.npz') cannot be read as .npz (it is a single array): write",
    )
    (tmp_path / "ann.npz").unlink()
    (tmp_path / "ann.npz").mkdir()
    refuses(
        lambda: from_folder(tmp_path),
        f"Client 'ann' ('{tmp_path}/ann.npz') is not a regular file: replace it with one, or",
    )


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter([])


PAIRS = [(np.zeros(2), 0), (np.zeros(2), 1)]
GRADED = torch.zeros(2, requires_grad=True)
DATASETS: list[tuple[Any, str]] = [
    (
        [*PAIRS, (np.zeros(3), 0)],
        "has the example 2 of shape (3,), and the first example is of shape",
    ),
    (
        [*PAIRS, (np.zeros(2), 0.5)],
        "has the label 0.5 for the example 2: number the classes from 0",
    ),
    (
        [*PAIRS, (np.zeros(2), None)],
        "has the label None for the example 2: number the classes from",
    ),
    (
        [*PAIRS, (np.zeros(2), torch.zeros(2).long())],
        "has the label tensor([0, 0]) for the example",
    ),
    (
        [*PAIRS, (np.zeros(2), -4)],
        "has the label -4, outside of 0 to 999999: number the classes fro",
    ),
    ([*PAIRS, ("text", 0)], "has the example 2 of type <U4: turn it into an array of numbers."),
    ([*PAIRS, (GRADED, 0)], "has the example 2, which is no array of numbers (Can't call numpy()"),
    (
        [*PAIRS, (np.full(2, np.nan), 0)],
        "has NaN or infinity in its examples: fill in missing v",
    ),
    (
        [*PAIRS, np.zeros(2)],
        "returns 'ndarray' for the example 2, not a pair of example and label: let",
    ),
    (
        [*PAIRS, (1, 2, 3)],
        "returns 'tuple' for the example 2, not a pair of example and label: let",
    ),
    ({0: PAIRS[0], 2: PAIRS[1]}, "has the example 1, which cannot be read (KeyError: 1): correct"),
    (
        [(Image.new("F", (2, 2)), 0)],
        "has the example 0, which is no array of numbers (it is an image",
    ),
    (Endless(), "has a dataset of type Endless without a length (TypeError: object of type 'Endl"),
    (3, "has a dataset of type int without a length (TypeError: object of type 'int'"),
    ([], "has no training example: a client needs one."),
    (
        [(np.zeros(5), 0)],
        "has examples of shape (5,), but those of client 'ann' of 'mine' have shape (2,): ",
    ),
]


@pytest.mark.parametrize(("dataset", "rest"), DATASETS)
def test_datasets(dataset: Any, rest: str) -> None:
    refuses(lambda: from_dataset({"ann": PAIRS, "bob": dataset}), f"{OF_BOB} {rest}")


def test_datasets_as_a_whole() -> None:
    one: Any = TensorDataset(torch.zeros(3, 2), torch.tensor([0, 1, 5]))
    mine: dict[str, Any] = {"ann": PAIRS}
    for call, sentence in (
        (
            lambda: from_dataset(one),
            "The clients of 'mine' must be a mapping or a list of datasets",
        ),
        (lambda: from_dataset({}), "'mine' has no clients: give a dataset for at least one."),
        (lambda: from_dataset(one, [0, 1]), "'mine' has 3 examples but 2 owners: every example"),
        (
            lambda: from_dataset(one, ["ann", "ann", "bob"], classes=2),
            f"{OF_BOB} has the label 5, outside of 0 to 1: number the classes from 0",
        ),
        (
            lambda: from_dataset(mine, test={"zoe": PAIRS}),
            "Client 'zoe' of 'mine' is in test= alone",
        ),
        (lambda: from_dataset(mine, test=one), "The clients of 'mine' must be a mapping or a list"),
        (
            lambda: from_dataset(mine, test={"ann": [(np.zeros(3), 1)]}),
            "The test set of client 'ann' of 'mine' has examples of shape (3,), but those of ",
        ),
    ):
        refuses(call, sentence)


def test_partitions() -> None:
    datasets = pytest.importorskip("datasets", reason="flexcfl[datasets] is not installed.")
    plain = datasets.Dataset.from_dict({"x": [[0.0, 1.0]] * 4, "y": [0, 1, 0, 1]})
    other = plain.rename_column("x", "xs")
    ragged = datasets.Dataset.from_dict({"x": [[0.0, 1.0], [2.0]], "y": [0, 1]})
    split = datasets.DatasetDict(train=plain)
    for call, sentence in (
        (
            lambda: from_partitions([plain]),
            "'mine' has 0 columns of type ClassLabel among x, y: cho",
        ),
        (
            lambda: from_partitions([plain], features="x", label="z"),
            "Client 0 of 'mine' has no column 'z' among x, y: rename one, or choose others",
        ),
        (
            lambda: from_partitions({"ann": plain, "bob": other}, label="y"),
            f"{OF_BOB} has no column 'x' among xs, y: rename one, or choose others",
        ),
        (
            lambda: from_partitions({"ann": plain, "bob": ragged}, label="y"),
            f"{OF_BOB} has the example 1 of shape (1,), and the first example is of",
        ),
        (
            lambda: from_partitions({"ann": plain, "bob": plain}, label="y", classes=1),
            f"{OF_ANN} has the label 1, outside of 0 to 0: number the classes from 0",
        ),
        (
            lambda: from_partitions(split),
            "The clients of 'mine' are a DatasetDict, whose splits are",
        ),
        (
            lambda: from_partitions(plain),
            "The clients of 'mine' must be a mapping or a list of data",
        ),
        (
            lambda: from_partitions([PAIRS]),
            "The partitions of 'mine' must be datasets.Dataset objec",
        ),
    ):
        refuses(call, sentence)


def test_partitioners() -> None:
    reason = "flwr-datasets is not installed."
    partitioners = pytest.importorskip("flwr_datasets.partitioner", reason=reason)
    datasets = pytest.importorskip("datasets")
    idle = partitioners.IidPartitioner(3)
    refuses(lambda: from_partitions(idle), "The IidPartitioner of 'mine' has no dataset yet: give")
    greedy = partitioners.DirichletPartitioner(50, "y", 1.0)
    greedy.dataset = datasets.Dataset.from_dict({"x": [[0.0]] * 4, "y": [0, 1, 0, 1]})
    refuses(
        lambda: from_partitions(greedy, label="y"),
        "The DirichletPartitioner of 'mine' cannot give its partition 0 (",
    )
    few = partitioners.IidPartitioner(6)
    few.dataset = greedy.dataset
    empty = "The IidPartitioner of 'mine' cannot give its partition 4 (Index 4 out of range"
    refuses(lambda: from_partitions(few, label="y"), empty)


def test_labels_that_are_no_classes() -> None:
    """Say what numbers texts, and that quantities cannot be learned; truncated, they look odd."""
    numbered = (
        ": number the classes from 0 (np.unique(y, return_inverse=True)[1] does that for strings, "
        "if y has the labels of all clients); flexcfl classifies and has no regression."
    )
    for labels in (Y + 0.5, Y.astype(float), ["cat", "dog"] * 3):
        with pytest.raises(DataError, match=re.escape(numbered)):
            from_arrays(X, labels, WHO)
    quantities = np.random.default_rng(0).integers(25, 347, 400)
    x, owner = np.zeros((400, 2)), np.arange(400) % 4
    with pytest.warns(DataWarning) as told:
        from_arrays(x, quantities, owner)
    assert str(told[0].message).startswith(
        f"'mine' has labels up to {quantities.max()} on 400 examples, which makes "
        f"{quantities.max() + 1} classes: flexcfl classifies and has no regression; if"
    )
    from_arrays(x, quantities, owner, classes=347)  # somebody knows what they are
    from_arrays(x, quantities // 2, owner)
    from_arrays(x[:20], np.arange(20), owner[:20])  # few examples have few of each class


def refuses(call: Callable[[], object], sentence: str) -> None:
    """Demand a sentence: one line, no more than it, that ends with what to do."""
    with pytest.raises(DataError) as told:
        call()
    said = str(told.value)
    assert said.startswith(sentence)
    assert said.endswith(".")
    assert not re.search(r"[.!?] [A-Z]", said)
    assert ": " in said or ", not " in said
