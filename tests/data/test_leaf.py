import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.data import from_leaf, load_federation
from flexcfl.errors import DataError

ANN = {"x": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], "y": [0, 2, 1]}
BOB = {"x": [[6, 7]], "y": [1]}


def content(**users: Any) -> dict[str, Any]:
    return {"users": list(users), "user_data": users}


def write(folder: Path, train: list[Any], test: list[Any]) -> Path:
    for part, files in (("train", train), ("test", test)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for number, file in enumerate(files):
            text = file if isinstance(file, bytes) else json.dumps(file).encode()
            (folder / part / f"data_{number}.json").write_bytes(text)
    return folder


def test_users_become_clients_in_the_order_of_the_training_files(tmp_path: Path) -> None:
    folder = write(tmp_path, [content(bob=BOB), content(ann=ANN)], [content(ann=BOB, bob=ANN)])
    federation = from_leaf(folder)
    assert federation.clients == 2
    assert federation.classes == 3
    assert federation.x[federation.train[0]].tolist() == BOB["x"]
    assert federation.y[federation.train[1]].tolist() == ANN["y"]
    assert federation.x[federation.test[0]].tolist() == ANN["x"]
    assert federation.x[federation.test[1]].tolist() == BOB["x"]
    assert federation.x.dtype == np.float32
    assert len(federation.y) == 8


def test_counts_may_be_given_and_a_client_may_lack_test_data(tmp_path: Path) -> None:
    counted = {**content(ann=ANN, bob=BOB, cleo=BOB), "num_samples": [3, 1, 1]}
    folder = write(tmp_path, [counted], [content(cleo=ANN, bob={"x": [], "y": []})])
    assert from_leaf(folder).test.sizes.tolist() == [0, 0, 3]


def test_flat_examples_can_be_given_a_shape(tmp_path: Path) -> None:
    folder = write(tmp_path, [content(ann=ANN)], [content(ann=ANN)])
    assert from_leaf(folder, shape=(1, 2, 1)).x.shape == (6, 1, 2, 1)
    assert load_federation("leaf", folder, shape=[2, 1]).shape == (2, 1)
    with pytest.raises(DataError, match=r"'ann' in '.*data_0.json' has examples of 2 numbers"):
        from_leaf(folder, shape=(3,))


def test_nested_examples_keep_their_shape(tmp_path: Path) -> None:
    images = {"x": [[[1, 2], [3, 4]]], "y": [0]}
    folder = write(tmp_path, [content(ann=images)], [content(ann=images)])
    assert from_leaf(folder).shape == (2, 2)


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (b"{", "cannot be read as JSON"),
        (b"\xff\xfe\x00", "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        ([1], "needs a list 'users' and a table 'user_data'"),
        ({"users": ["ann"]}, "needs a list 'users' and a table 'user_data'"),
        ({"users": ["ann"], "user_data": {}}, "'ann' in .* is not exactly once in both"),
        ({"users": [], "user_data": {"ann": ANN}}, "'ann' in .* is not exactly once in both"),
        ({"users": ["ann", "ann"], "user_data": {"ann": ANN}}, "'ann' in .* exactly once"),
        ({**content(ann=ANN), "num_samples": [2]}, "'ann' in .* has 3 labels but 2 'num_samples'"),
        ({**content(ann=ANN), "num_samples": 3}, "needs one number per user in 'num_samples'"),
        (content(ann=[1]), "'ann' in .* has no 'x' and 'y'"),
        (content(ann={"x": [[1]]}), "'ann' in .* has no 'x' and 'y'"),
        (content(ann={"x": [[1]], "y": [0, 1]}), "'ann' in .* has 1 examples but 2 labels"),
        (content(ann={"x": [[1], [2, 3]], "y": [0, 1]}), "'ann' in .* equally long lists"),
        (content(ann={"x": ["the text"], "y": [0]}), "text in 'x', and only numbers are supported"),
        (content(ann={"x": [["a", "b"]], "y": [0]}), "text in 'x', .* encode the text as numbers"),
        (content(ann={"x": [1], "y": [0]}), "'ann' in .* equally long lists of numbers"),
        (content(ann={"x": [[None]], "y": [0]}), "'ann' in .* equally long lists of numbers"),
        (content(ann={"x": [[float("nan")]], "y": [0]}), "'ann' in .* has NaN or infinity"),
        (content(ann={"x": [[1e300]], "y": [0]}), "'ann' in .* has NaN or infinity"),
        (content(ann={"x": [[1]], "y": [-1]}), "'ann' in .* whole numbers from 0 to 999999"),
        (content(ann={"x": [[1]], "y": [0.5]}), "'ann' in .* whole numbers from 0 to 999999"),
        (content(ann={"x": [[1]], "y": ["a"]}), "text in 'y', and only numbers are supported"),
        (content(ann={"x": [[1]], "y": [0, "a"]}), "'ann' in .* whole numbers from 0 to 999999"),
        (content(ann={"x": [[1]], "y": [[0]]}), "'ann' in .* whole numbers from 0 to 999999"),
        (content(ann={"x": [[1]], "y": [1_000_000]}), "'ann' in .* whole numbers from 0"),
        (content(ann={"x": [[1]], "y": [float("inf")]}), "'ann' in .* whole numbers from 0"),
        (content(ann={"x": [[1]], "y": [float("nan")]}), "'ann' in .* whole numbers from 0"),
        (content(ann={"x": [], "y": []}), "'ann' in .* has no training example"),
    ],
)
def test_a_mistake_names_its_file_and_user(tmp_path: Path, file: Any, problem: str) -> None:
    folder = write(tmp_path, [file], [content(ann=ANN)])
    with pytest.raises(DataError, match=problem) as caught:
        from_leaf(folder)
    assert str(folder / "train" / "data_0.json") in str(caught.value)


def test_users_of_other_shapes_are_refused(tmp_path: Path) -> None:
    odd = {"x": [[1, 2, 3]], "y": [0]}
    folder = write(tmp_path, [content(ann=ANN)], [content(ann=odd)])
    with pytest.raises(DataError, match=r"'ann' in '.*test.*' has examples of shape \(3,\)"):
        from_leaf(folder)


def test_a_user_in_two_files_or_without_training_data_is_refused(tmp_path: Path) -> None:
    twice = write(tmp_path / "twice", [content(ann=ANN), content(ann=BOB)], [content(ann=ANN)])
    with pytest.raises(DataError, match=r"'ann' in '.*data_1.json' is in '.*data_0.json' as well"):
        from_leaf(twice)
    stranger = write(tmp_path / "stranger", [content(ann=ANN)], [content(bob=BOB)])
    with pytest.raises(DataError, match=r"'bob' in .* is in no training file"):
        from_leaf(stranger)


def test_files_without_users_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"The files in '.*train' name no user"):
        from_leaf(write(tmp_path, [content()], [content()]))


def test_examples_without_numbers_are_refused(tmp_path: Path) -> None:
    nothing = content(ann={"x": [[]], "y": [0]})
    with pytest.raises(DataError, match=r"'ann' in .*json' has an example without any number"):
        from_leaf(write(tmp_path, [nothing], [nothing]))


def test_what_rights_keep_from_us_is_told(another_user: Path) -> None:
    folder = write(another_user, [content(ann=ANN)], [content(ann=BOB)])
    closed = folder / "train" / "data_0.json"
    closed.chmod(0)
    with pytest.raises(DataError) as caught:
        from_leaf(folder)
    assert str(caught.value) == (
        f"'{closed}' cannot be read (Permission denied): check its permissions."
    )
    closed.parent.chmod(0)
    with pytest.raises(DataError, match=r"train' cannot be read \(Permission denied\): check its"):
        from_leaf(folder)


def test_a_folder_without_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no \*\.json file in '.*train'"):
        from_leaf(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "y", "ann"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("fuzzed"), [], [content(ann=ANN)])


@given(
    st.one_of(
        JSON,
        st.fixed_dictionaries({"users": JSON, "user_data": JSON}, optional={"num_samples": JSON}),
        st.fixed_dictionaries({"x": JSON, "y": JSON}).map(lambda user: content(ann=user)),
        st.lists(JSON).map(lambda x: content(ann={"x": x, "y": [0] * len(x)})),
    )
)
def test_any_json_gives_a_federation_or_a_sentence(fuzzed: Path, file: Any) -> None:
    write(fuzzed, [file], [])
    with contextlib.suppress(DataError):
        from_leaf(fuzzed)
