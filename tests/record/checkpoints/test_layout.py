"""The format: any safetensors reader reads the arrays, and every changed bit is noticed."""

import json
import zlib
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load, save

from flexcfl.record.checkpoints.layout import (
    File,
    Manifest,
    UnreadableError,
    arrays_in,
    file_parts,
    manifest_bytes,
    parse_manifest,
)
from tests.record.checkpoints.interrupted import check_values
from tests.record.checkpoints.test_tree import DTYPES, arrays

some_arrays = st.lists(st.sampled_from(DTYPES).flatmap(arrays), max_size=12)
FILE = File("arrays-3.safetensors", 120, 7)
MANIFEST = Manifest(3, (FILE,), ((0, 0), (0, 5)), {"about": [1, 0.1, None, "é\ud800", 1e300]})


def file_of(content: bytes) -> File:
    return File("arrays-1.safetensors", len(content), zlib.crc32(content))


@settings(max_examples=40)
@given(some_arrays)
def test_any_reader_of_safetensors_reads_them(given_arrays: list[NDArray[Any]]) -> None:
    content = b"".join(file_parts(given_arrays))
    by_number = {int(name): array for name, array in load(content).items()}
    check_values([by_number[n] for n in range(len(given_arrays))], given_arrays)


@settings(max_examples=40)
@given(some_arrays)
def test_they_are_read_back_from_ours_and_from_any_writer(
    given_arrays: list[NDArray[Any]],
) -> None:
    named = {str(n): np.asarray(each, order="C") for n, each in enumerate(given_arrays)}
    for content in (b"".join(file_parts(given_arrays)), save(named)):
        found = arrays_in(content, file_of(content))
        check_values([found[n] for n in range(len(given_arrays))], given_arrays)
        assert all(each.flags.writeable and each.flags.aligned for each in found.values())


def test_large_arrays_are_not_copied() -> None:
    large = np.zeros(2**16, np.float32)
    (_, part) = file_parts([large])
    assert np.shares_memory(np.frombuffer(part, np.uint8), large)


def test_every_bit_of_a_file_of_arrays_counts() -> None:
    content = b"".join(file_parts([np.arange(3.0), np.array(True)]))
    file = file_of(content)
    for place in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        with pytest.raises(UnreadableError, match="its checksum is wrong"):
            arrays_in(bytes(flipped), file)


@given(st.integers(0, 200))
def test_a_file_of_arrays_that_was_cut_is_reported(length: int) -> None:
    content = b"".join(file_parts([np.arange(30.0)]))
    with pytest.raises(UnreadableError, match=f"it has {length} bytes, not {len(content)}"):
        arrays_in(content[:length], file_of(content))


def test_the_manifest_reads_back() -> None:
    assert parse_manifest(manifest_bytes(MANIFEST)) == MANIFEST


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 2**80])
def test_unusual_numbers_read_back(value: float) -> None:
    found = parse_manifest(manifest_bytes(Manifest(1, (), (), value))).content
    assert repr(found) == repr(value)


def test_every_bit_of_a_manifest_counts() -> None:
    text = manifest_bytes(MANIFEST)
    for place in range(8 * len(text)):
        flipped = bytearray(text)
        flipped[place // 8] ^= 1 << place % 8
        try:  # the blanks between may change, and names that occur twice
            assert parse_manifest(bytes(flipped)) == MANIFEST
        except UnreadableError:
            continue
    with pytest.raises(UnreadableError, match="it is not JSON"):
        parse_manifest(text[:-2])


def sealed(**changes: object) -> bytes:
    """Return a manifest with other entries and a correct checksum."""
    body = {**json.loads(manifest_bytes(MANIFEST))["checkpoint"], **changes}
    checksum = zlib.crc32(json.dumps(body).encode("ascii"))
    head = {"format": "flexcfl checkpoint", "version": 1, "checksum": checksum}
    return json.dumps({**head, "checkpoint": body}).encode("ascii")


NAMES = [
    *("../arrays-1.safetensors", "/etc/passwd", "arrays-1.safetensors\n", "arrays-1.safetensors/x"),
    *("arrays-.safetensors", "arrays--1.safetensors", "arrays-1.safetensors\0", "", ".", "round-1"),
    *("arrays-12345678901.safetensors", "arrays-\u0661.safetensors", "ARRAYS-1.safetensors"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    files = [{"name": name, "length": 1, "checksum": 1}]
    with pytest.raises(UnreadableError, match="none of a checkpoint's"):
        parse_manifest(sealed(files=files))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"1" * 10_000, "not JSON"),
        (b"[]", "not a checkpoint of flexcfl"),
        (b'{"format": "other"}', "not a checkpoint of flexcfl"),
        (b'{"format": "flexcfl checkpoint", "version": 2}', "of version 2, and this flexcfl"),
        (b'{"format": "flexcfl checkpoint", "version": 1}', "checksum is wrong"),
        (sealed(round=1.0), "1.0 stands where int is wanted"),
        (sealed(round=True), "True stands where int is wanted"),
        (sealed(files=None), "None stands where a list is wanted"),
        (sealed(files=[{"name": FILE.name}]), "the fields name, length, checksum are wanted"),
        (sealed(arrays=[[1, 0]]), "an array of no file"),
        (sealed(arrays=[[-1, 0]]), "an array of no file"),
        (sealed(files=[asdict(FILE)] * 2), "a file twice"),
        (sealed(arrays=[[0]]), "a list has 1 items, not 2"),
    ],
)
def test_what_is_no_manifest_is_reported(text: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        parse_manifest(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside),
    max_leaves=6,
)


@given(st.sampled_from(["round", "files", "arrays"]), json_values)
def test_anything_in_the_place_of_anything(name: str, value: Any) -> None:
    try:
        found = parse_manifest(sealed(**{name: value}))
    except UnreadableError:
        return
    check_values(json.loads(manifest_bytes(found))["checkpoint"][name], value)


@pytest.mark.parametrize("depth", [100, 500, 900, 960, 980, 990, 1000, 2000, 50_000])
def test_any_depth_is_read_or_refused(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    text = sealed(content="deep").decode().replace('"deep"', deep)
    with pytest.raises(UnreadableError, match=r"not JSON|checksum"):
        parse_manifest(text.encode())


def headed(header: object, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        (2**60).to_bytes(8, "little") + b"{}",
        headed({"0": entry("F32", [2**58], 0, 2**60)}),
        headed({"0": entry("F32", [2**40, 2**40], 0, 4)}, bytes(4)),
        headed({"0": entry("F32", [1], 0, 4), "1": entry("F32", [1], 0, 4)}, bytes(4)),
        headed({"0": entry("F32", [1], 4, 8)}, bytes(8)),
        headed({"0": entry("F32", [-1], 0, 4)}, bytes(4)),
        headed({"0": entry("BF16", [2], 0, 4)}, bytes(4)),
        headed({"0": entry("F8_E4M3", [4], 0, 4)}, bytes(4)),
        headed({"0": entry("F8_E5M2", [4], 0, 4)}, bytes(4)),
        headed({"0": entry("X", [4], 0, 4)}, bytes(4)),
        headed({"a": entry("F32", [1], 0, 4)}, bytes(4)),
        headed({"1" * 5000: entry("F32", [1], 0, 4)}, bytes(4)),
        headed([1]),
        headed({"0": entry("F32", [1], 0, 4)}, bytes(5)),
    ],
    ids=range(16),
)
def test_hostile_files_of_arrays_are_reported(content: bytes) -> None:
    with pytest.raises(UnreadableError, match="not a safetensors file"):
        arrays_in(content, file_of(content))


DTYPE_NAMES = ["F16", "BF16", "F32", "F64", "BOOL", "U8", "U64", "I8", "I64", "F8_E4M3", "C64", ""]


@settings(max_examples=200)
@given(
    st.dictionaries(
        st.sampled_from(["0", "1", "x", "-1", " 2", "\u0663", "__metadata__"]),
        st.builds(
            entry,
            st.sampled_from(DTYPE_NAMES),
            st.lists(st.integers(-1, 4) | st.just(2**60), max_size=3),
            st.integers(0, 9),
            st.integers(0, 2**62) | st.integers(0, 40),
        ),
        max_size=3,
    ),
    st.binary(max_size=40),
)
def test_any_header_is_read_or_refused(header: dict[str, Any], data: bytes) -> None:
    content = headed(header, data)
    try:
        found = arrays_in(content, file_of(content))
    except UnreadableError:
        return
    assert sum(each.nbytes for each in found.values()) <= len(data)
