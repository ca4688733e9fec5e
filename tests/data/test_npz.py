import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from flexcfl.cli import app
from flexcfl.data import from_arrays, from_folder, load_federation
from flexcfl.errors import DataError
from tests.data.own import CLASSES, Clients, clients, lay, lay_whole, pool, same


@given(clients(), st.integers(0, 99), st.sampled_from([0.1, 0.5]))
def test_a_folder_is_the_same_as_the_arrays_in_it(own: Clients, seed: int, share: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        read = from_folder(lay_whole(Path(folder), own), seed=seed, test_share=share)
    assert same(read, from_arrays(*pool(own), seed=seed, test_share=share))


@given(clients(), clients())
def test_a_folder_may_say_what_is_to_test_with(own: Clients, more: Clients) -> None:
    files = {
        name: {"x_train": x, "y_train": y}
        | ({"x_test": more[name][0], "y_test": more[name][1]} if name in more else {})
        for name, (x, y) in own.items()
    }
    known = {name: pair for name, pair in more.items() if name in own}
    parts = [pool(own), *([pool(known)] if known else [])]
    x, y, owner = (np.concatenate(column) for column in zip(*parts, strict=True))
    test = np.repeat([False, True][: len(parts)], [len(part[1]) for part in parts])
    with tempfile.TemporaryDirectory() as folder:
        read = from_folder(lay(Path(folder), files), classes=CLASSES)
    assert same(read, from_arrays(x, y, owner, test=test, classes=CLASSES))


def test_divided_files_and_others_may_lie_beside_each_other(tmp_path: Path) -> None:
    ones = {"x": np.ones((10, 1)), "y": np.zeros(10, int)}
    divided = {"x_train": np.full((3, 1), 2.0), "y_train": np.ones(3, int)}
    read = from_folder(lay(tmp_path, {"a": ones, "b": divided, "c": ones}))
    assert read.train.sizes.tolist() == [8, 3, 8]
    assert read.test.sizes.tolist() == [2, 0, 2]
    assert read.x[read.train[1]].ravel().tolist() == [2.0] * 3


def test_clients_are_called_as_their_files_and_numbers_are_in_the_order_of_numbers(
    tmp_path: Path,
) -> None:
    arrays = {number: {"x": np.full((2, 1), number), "y": [0, 1]} for number in (10, 9, 2, 0)}
    read = from_folder(lay(tmp_path / "numbers", arrays))
    assert read.names == ("0", "2", "9", "10")
    assert [read.x[own].ravel()[0] for own in read.train] == [0, 2, 9, 10]
    words: dict[Any, Any] = {**arrays, "x": arrays[2]}
    assert from_folder(lay(tmp_path / "words", words)).names == ("0", "10", "2", "9", "x")


def test_other_files_are_not_read(tmp_path: Path) -> None:
    lay(tmp_path, {"ann": {"x": np.ones((4, 2)), "y": [0, 1, 0, 1]}})
    (tmp_path / "readme.txt").write_text("nothing to see")
    (tmp_path / "._ann.npz").write_bytes(b"what a Mac leaves behind")
    (tmp_path / "sub").mkdir()
    assert from_folder(str(tmp_path)).names == ("ann",)


def test_the_dataset_npz_is_that_folder(tmp_path: Path) -> None:
    lay(tmp_path, {name: {"x": np.eye(9), "y": np.arange(9) % 3} for name in ("ann", "bob")})
    loaded = load_federation("npz", tmp_path, seed=3)
    assert loaded.name == "npz"
    assert same(loaded, from_folder(tmp_path, seed=3))
    assert same(load_federation("npz", folder=tmp_path, seed=3), loaded)


def test_a_run_reads_it_and_knows_the_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    own = {
        name: {"x": rng.normal(size=(30, 3)), "y": rng.integers(2, size=30)}
        for name in ("ann", "bob", "cleo", "dan")
    }
    words = ["run", "--dataset", "npz", "--set", f"data.folder={lay(tmp_path / 'own', own)}"]
    more = ["--set", "run.cohort=2", "--groups", "2", "--rounds", "1", "--out", tmp_path / "run"]
    result = CliRunner().invoke(app, [*words, *map(str, more)])
    assert result.exit_code == 0, result.output
    assert "cleo" in (tmp_path / "run" / "clients.csv").read_text("utf-8")
    assert str(tmp_path / "own") in (tmp_path / "run" / "experiment.toml").read_text("utf-8")


def test_what_rights_keep_from_us_is_told(another_user: Path) -> None:
    lay(another_user, {"ann": {"x": np.ones((4, 2)), "y": [0, 1, 0, 1]}})
    closed = another_user / "ann.npz"
    closed.chmod(0)
    with pytest.raises(DataError) as told:
        from_folder(another_user)
    assert (
        str(told.value) == f"'{closed}' cannot be read (Permission denied): check its permissions."
    )
    another_user.chmod(0)
    try:
        with pytest.raises(DataError, match=r"cannot be read \(Permission denied\)"):
            from_folder(another_user)
    finally:
        another_user.chmod(0o700)


@given(st.binary(max_size=200), st.integers(0, 400))
def test_whatever_is_in_a_file_is_read_or_one_sentence_with_its_client(
    noise: bytes, where: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = lay(Path(folder), {"ann": {"x": np.ones((2, 2)), "y": [0, 1]}}) / "ann.npz"
        whole = file.read_bytes()
        file.write_bytes(whole[:where] + noise + whole[where + len(noise) :])
        told = sentence(folder)
        assert told is None or told.startswith(f"Client 'ann' ('{file}') ")


def sentence(folder: str) -> str | None:
    try:
        from_folder(folder)
    except DataError as error:
        return str(error)
    return None
