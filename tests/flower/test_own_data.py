import gzip
import io
import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.data import Federation
from flexcfl.data.federation import placeholder_federation
from flexcfl.errors import DataError
from flexcfl.flower.own_data import own_federation
from tests.flower.nodes import CLASSES, CLIENTS, SHAPE, Trap, lay, points

LIKE = placeholder_federation("own", CLIENTS, SHAPE, CLASSES)
GOOD = points((1, 2), 12, seed=0)


def read(path: Path, clients: list[int], like: Federation = LIKE) -> Federation:
    return own_federation(path, np.array(clients), like)


def save(path: Path, **changes: Any) -> Path:
    arrays = {**GOOD, **changes}
    np.savez(path, **{name: each for name, each in arrays.items() if each is not None})
    return path


def idx(array: Any) -> bytes:
    values = np.asarray(array, dtype=np.uint8)
    sizes = np.array(values.shape, dtype=">u4").tobytes()
    return bytes((0, 0, 8, values.ndim)) + sizes + values.tobytes()


def lay_idx(folder: Path, *, packed: bool) -> Path:
    rng, end = np.random.default_rng(0), ".gz" if packed else ""
    for word, number in (("train", 6), ("t10k", 2)):
        images, labels = rng.integers(0, 256, (number, 2, 2)), np.arange(number) % 3
        for name, array in (("images-idx3", images), ("labels-idx1", labels)):
            content = gzip.compress(idx(array)) if packed else idx(array)
            (folder / f"{word}-{name}-ubyte{end}").write_bytes(content)
    return folder


def lay_leaf(folder: Path, users: dict[str, Any]) -> Path:
    for part in ("train", "test"):
        (folder / part).mkdir(parents=True)
        text = json.dumps({"users": list(users), "user_data": users})
        (folder / part / "all.json").write_text(text)
    return folder


def test_hosted_clients_have_their_own_files_and_all_others_a_blank_example(tmp_path: Path) -> None:
    federation = read(lay(tmp_path), [1, 6])
    assert (federation.clients, federation.shape, federation.classes) == (CLIENTS, SHAPE, CLASSES)
    for client in range(CLIENTS):
        for part, lists in (("train", federation.train), ("test", federation.test)):
            x, y = federation.x[lists[client]], federation.y[lists[client]]
            if client not in (1, 6):
                assert (x.tolist(), y.tolist()) == ([[0.0] * 4], [0])
                continue
            with np.load(tmp_path / f"{client}.npz") as stored:
                np.testing.assert_array_equal(x, stored[f"x_{part}"].astype(np.float32))
                np.testing.assert_array_equal(y, stored[f"y_{part}"])


def test_one_client_may_have_one_file_and_nothing_to_test_with(tmp_path: Path) -> None:
    federation = read(save(tmp_path / "mine.npz", x_test=None, y_test=None), [3])
    assert federation.train.sizes[3] == 8
    assert federation.test.sizes[3] == 0


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ((2, 3), (6,)),
        ((6,), (1, 2, 3)),
        ((2, 3), (1, 2, 3)),
        ((2, 3, 1), (1, 2, 3)),
        ((), (1,)),
    ],
)
def test_examples_may_be_flat_or_have_axes_of_one(
    tmp_path: Path, stored: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    x = np.arange(8 * int(np.prod(stored)), dtype=np.uint8).reshape(8, *stored)
    path = save(tmp_path / "a.npz", x_train=x, x_test=x[:4])
    federation = read(path, [0], placeholder_federation("own", 2, wanted, CLASSES))
    assert federation.x[federation.train[0]].ravel().tolist() == x.ravel().tolist()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shape", [(1, 2, 2), (2, 2), (4,)])
def test_idx_files_are_one_client_with_numbers_from_0_to_1(
    tmp_path: Path, shape: tuple[int, ...], packed: bool
) -> None:
    federation = read(
        lay_idx(tmp_path, packed=packed), [1], placeholder_federation("own", 3, shape, 3)
    )
    expected = np.random.default_rng(0).integers(0, 256, (6, 2, 2)) / np.float32(255)
    np.testing.assert_allclose(federation.x[federation.train[1]].ravel(), expected.ravel())
    assert federation.y[federation.train[1]].tolist() == [0, 1, 2, 0, 1, 2]
    assert federation.test.sizes.tolist() == [1, 2, 1]


def test_the_users_of_leaf_become_the_clients_in_their_order(tmp_path: Path) -> None:
    users = {name: {"x": [[n, 0, 0, 0]] * n, "y": [n] * n} for n, name in ((2, "bo"), (3, "al"))}
    federation = read(lay_leaf(tmp_path, users), [0, 5])
    assert federation.train.sizes.tolist() == [2, 1, 1, 1, 1, 3, 1, 1]
    assert federation.y[federation.test[5]].tolist() == [3, 3, 3]
    assert federation.x[federation.test[0]][:, 0].tolist() == [2.0, 2.0]
    images = read(tmp_path, [0, 5], placeholder_federation("own", 6, (1, 2, 2), CLASSES))
    assert images.shape == (1, 2, 2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y_train": None}, "needs the arrays x_train and y_train"),
        ({"x_test": None}, "needs the arrays .* but has x_train, y_train, y_test"),
        ({"x_train": np.full((8, 4), Trap(), dtype=object)}, "cannot be read as .npz .*pickle"),
        ({"x_train": np.full((8, 4), "a")}, "has examples of type <U1 .*: give numbers"),
        ({"y_train": np.zeros(8)}, "labels of type float64 in 1 dimensions"),
        ({"y_train": np.zeros((8, 1), int)}, "labels of type int64 in 2 dimensions"),
        ({"y_train": np.zeros(7, int)}, "has 8 examples but 7 labels"),
        ({"y_train": np.full(8, 4)}, r"has a label outside of 0 to 3 \(\[network\] classes"),
        ({"y_train": np.full(8, -1)}, "has a label outside of 0 to 3"),
        ({"x_train": np.zeros((8, 5))}, r"do not fit .* of shape \(5,\) instead of \(4,\)"),
        ({"x_train": np.full((8, 4), np.nan)}, "has NaN or infinity"),
        ({"x_test": np.full((4, 4), 1e300)}, "has NaN or infinity"),
        ({"x_train": np.zeros((0, 4)), "y_train": np.zeros(0, int)}, "has no training example"),
    ],
)
def test_a_bad_file_is_one_sentence_that_names_it(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    path = save(tmp_path / "bad.npz", **changes)
    with pytest.raises(DataError, match=sentence) as told:
        read(path, [0])
    assert str(path) in str(told.value)


def test_what_is_no_npz_at_all_is_one_sentence(tmp_path: Path) -> None:
    single, pickled = tmp_path / "single.npz", tmp_path / "pickled.npz"
    with single.open("wb") as stream:
        np.save(stream, np.zeros(3))
    pickled.write_bytes(pickle.dumps(Trap()))
    for path, reason in ((single, "it is a single array"), (pickled, "pickle")):
        with pytest.raises(DataError, match=f"cannot be read as .npz .*{reason}"):
            read(path, [0])


def test_files_and_clients_must_be_of_one_number(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has the data of 1 clients, and this node hosts 2"):
        read(save(tmp_path / "a.npz"), [0, 1])
    users = {"ann": {"x": [[0, 0, 0, 1]], "y": [0]}}
    with pytest.raises(DataError, match="has the data of 1 clients, and this node hosts 3"):
        read(lay_leaf(tmp_path / "leaf", users), [0, 1, 2])
    lay(tmp_path / "npz", clients=2)
    with pytest.raises(DataError, match=r"There is no file '.*2\.npz': put the data"):
        read(tmp_path / "npz", [0, 1, 2])


def test_a_place_without_data_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no '.*nowhere': set --node-config files"):
        read(tmp_path / "nowhere", [0])
    folder = lay_idx(tmp_path, packed=False)
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match=r"lacks t10k-labels-idx1-ubyte .*all four"):
        read(folder, [0], placeholder_federation("own", 1, (2, 2), 3))
    with pytest.raises(DataError, match=r"has examples of shape \(2, 2\)"):
        read(lay_idx(tmp_path, packed=False), [0], placeholder_federation("own", 1, (3, 3), 3))


@given(rubbish=st.binary(max_size=200), place=st.integers(0, 1500), xor=st.integers(1, 255))
def test_damage_is_told_or_leaves_data_that_fit(rubbish: bytes, place: int, xor: int) -> None:
    stream = io.BytesIO()
    np.savez(stream, **GOOD)
    whole = bytearray(stream.getvalue())
    whole[place % len(whole)] ^= xor
    for content in (rubbish, bytes(whole), bytes(whole[:place])):
        _read_or_told(content)


def _read_or_told(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npz"
        path.write_bytes(content)
        told = ""
        try:
            assert read(path, [0]).shape == SHAPE
        except DataError as error:
            told = str(error)
        assert not told or str(path) in told
