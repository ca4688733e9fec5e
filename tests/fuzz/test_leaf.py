"""LEAF's JSON from strangers."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.data import from_leaf, load_federation
from flexcfl.errors import FlexcflError
from fuzz.harness import alarmed
from fuzz.strategies import JSON, STRANGE_NAMES, mutated
from fuzz.targets import ANN, LEAF

Judge: TypeAlias = Callable[..., str | None]
Refused: TypeAlias = Callable[[str, bytes], str]


def written(user: Any, name: str = "ann") -> bytes:
    return json.dumps({"users": [name], "user_data": {name: user}}).encode()


def of(x: str, y: str = "[0]") -> bytes:
    return b'{"users": ["ann"], "user_data": {"ann": {"x": %b, "y": %b}}}' % (
        x.encode(),
        y.encode(),
    )


@settings(max_examples=60)
@given(mutated(LEAF))
def test_mutated_files(judge: Judge, content: bytes) -> None:
    judge("leaf", content)


@pytest.mark.slow
@settings(max_examples=800)
@given(mutated(LEAF))
def test_many_mutated_files(judge: Judge, content: bytes) -> None:
    judge("leaf", content)


@settings(max_examples=60)
@given(
    st.one_of(
        JSON,
        st.fixed_dictionaries({"users": JSON, "user_data": JSON}, optional={"num_samples": JSON}),
        st.fixed_dictionaries({"x": JSON, "y": JSON}).map(
            lambda user: {"users": ["ann"], "user_data": {"ann": user}}
        ),
        JSON.map(lambda counts: {**json.loads(LEAF[0]), "num_samples": counts}),
        JSON.map(lambda user: {"users": [user], "user_data": {"ann": ANN, str(user): ANN}}),
    )
)
def test_any_json(judge: Judge, content: Any) -> None:
    judge("leaf", json.dumps(content).encode())


@pytest.mark.parametrize("name", STRANGE_NAMES)
def test_names_of_users_lead_nowhere(judge: Judge, refused: Refused, name: str) -> None:
    """No file is opened or made by a user's name, and a sentence shows it on one line."""
    judge("leaf", written(ANN, name))
    assert "User " in refused("leaf", written({"x": [[1]], "y": ["a"]}, name))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        # NumPy would set aside four times the text's length for each of the numbers.
        (of(f'[[{"0, " * 20_000} "{"x" * 20_000}"]]'), "equally long lists of numbers"),
        (of("[[1]]", f'[{"0, " * 20_000} "{"x" * 20_000}"]'), "in 'y' something other"),
        (of('[[1, "2"]]'), "equally long lists of numbers"),
        (of("[[1, true]]"), "equally long lists of numbers"),
        (of("[[1]]", "[true]"), "in 'y' something other"),
        (of("[[1]]", "[NaN]"), "in 'y' something other"),
        (of("[[Infinity]]"), "NaN or infinity"),
        (of("[[1e400]]"), "NaN or infinity"),
        (of(f"[[1{'0' * 400}]]"), "equally long lists of numbers"),
        (of(f"[[1{'0' * 5000}]]"), "cannot be read as JSON"),
        (of("[" * 40 + "1" + "]" * 40), "equally long lists of numbers"),
        (of("[" * 70 + "1" + "]" * 70), "equally long lists of numbers"),
        (of("[" * 100_000), "cannot be read as JSON"),
        (of("[[1], 2]", "[0, 0]"), "equally long lists of numbers"),
        (of("[[[1, 2], [3]]]"), "equally long lists of numbers"),
        (of("[" + "[]," * 30_000 + "[]]"), "30001 examples but 1 labels"),
        (of("[" + "{}," * 30_000 + "{}]"), "equally long lists of numbers"),
        (of("1", "1"), "in 'y' something other"),
        (of("null", "[]"), "equally long lists of numbers"),
        (b'{"users": [["ann"]], "user_data": {}}', "something other than names"),
        (b'{"users": [null], "user_data": {"None": {}}}', "something other than names"),
        (b'{"users": [' + b"[" * 900 + b"]" * 900 + b'], "user_data": {}}', "other than names"),
        (b'{"users": ["ann"], "user_data": {"ann": 1, "ann": 2}}', "has no 'x' and 'y'"),
        (LEAF[0][:-1] + b', "num_samples": ["\\n"]}', r"but '\n' 'num_samples'"),
        (LEAF[0][:-1] + b', "num_samples": [' + b"9" * 4000 + b"]}", "9... 'num_samples'"),
        (LEAF[0].decode().encode("utf-16")[:-1], "cannot be read as JSON"),
        (b"", "cannot be read as JSON"),
    ],
)
def test_what_would_ask_for_memory_or_make_no_sense(
    refused: Refused, content: bytes, problem: str
) -> None:
    assert problem in refused("leaf", content)


@pytest.mark.parametrize("shape", [(2**20, 2**20, 2**20, 16), (1,) * 40, (10**6,) * 31])
def test_a_shape_beyond_all_measure_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
        (tmp_path / part / "all.json").write_bytes(written({"x": [[]], "y": [0]}))
    with pytest.raises(FlexcflError, match=r"shape|examples of 0 numbers"):
        load_federation("leaf", folder=tmp_path, shape=list(shape))


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "circle"])
def test_what_is_no_file_is_neither_waited_for_nor_read(tmp_path: Path, kind: str) -> None:
    (tmp_path / "train").mkdir()
    path = tmp_path / "train" / "all.json"
    if kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("This system has no pipes in folders.")
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "circle":
        path.symlink_to(path)
    else:
        path.mkdir()
    with alarmed(), pytest.raises(FlexcflError, match="is not a regular file: replace it with one"):
        from_leaf(tmp_path)


@pytest.mark.parametrize("name", ["no\0name", "x" * 300])
def test_a_folder_of_an_impossible_name_holds_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(FlexcflError, match=r"no \*\.json file"):
        from_leaf(tmp_path / name)
