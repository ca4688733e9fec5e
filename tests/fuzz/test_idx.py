"""IDX files from strangers, plain and compressed."""

import gzip
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flexcfl.data import files
from flexcfl.data.files import SOURCES
from flexcfl.data.images import read_idx
from flexcfl.errors import DataError
from fuzz.harness import alarmed
from fuzz.strategies import mutated
from fuzz.targets import GZIP, IDX

Judge: TypeAlias = Callable[..., str | None]
Refused: TypeAlias = Callable[[str, bytes], str]

SIZES = st.one_of(st.sampled_from([0, 1, 2, 2**16, 2**31 - 1, 2**31, 2**32 - 1]), st.integers(0, 9))


def header(*sizes: int) -> bytes:
    return struct.pack(f">{1 + len(sizes)}I", 0x800 + len(sizes), *sizes)


def packed(blocks: int, start: bytes) -> bytes:
    """Compress a start and then as many megabytes of zeros, which are a thousandth of that."""
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(2**20)
    parts = [packer.compress(start), *(packer.compress(zeros) for _ in range(blocks))]
    return b"".join([*parts, packer.flush()])


BOMB = packed(120, header(10, 1, 1) + bytes(10))


@given(mutated(IDX))
def test_mutated_plain_files(judge: Judge, content: bytes) -> None:
    judge("idx", content)


@settings(max_examples=60)
@given(mutated(GZIP))
def test_mutated_compressed_files(judge: Judge, content: bytes) -> None:
    judge("gzip", content)


@settings(max_examples=60)
@given(mutated(IDX), st.integers(0, 40))
def test_mutated_files_within_right_members(judge: Judge, content: bytes, cut: int) -> None:
    judge("gzip", gzip.compress(content[:cut], 1) + gzip.compress(content[cut:], 1))


@pytest.mark.slow
@settings(max_examples=800)
@given(mutated(IDX + GZIP))
def test_many_mutated_files(judge: Judge, content: bytes) -> None:
    judge("gzip", content)


@example((2**32 - 1, 0, 2**32 - 1), b"", False)  # nothing to read, and more than an array can be
@given(st.tuples(SIZES, SIZES, SIZES), st.binary(max_size=40), st.booleans())
def test_any_sizes_in_a_header(
    judge: Judge, sizes: tuple[int, int, int], rest: bytes, compressed: bool
) -> None:
    content = header(*sizes) + rest
    taken = judge("idx", gzip.compress(content, 1) if compressed else content) is None
    whole = sizes[0] * sizes[1] * sizes[2] == len(rest)
    assert taken <= whole
    assert taken or not whole or 0 in sizes  # then no array may be able to have the other two


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_two_billion_images_are_refused_before_anything_is_read(
    refused: Refused, pack: Callable[[bytes], bytes]
) -> None:
    assert "cannot be read" in refused("idx", pack(header(2**31, 28, 28) + bytes(784)))


def test_a_plain_file_promises_no_more_than_it_has(refused: Refused) -> None:
    content = header(10**6, 1, 1) + bytes(10**6 - 1)
    assert "ends after 999999 of 1000000 bytes" in refused("idx", content)


def test_a_bomb_stops_at_the_promised_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(BOMB)
    unpacked = 0

    class Counted(gzip.GzipFile):
        def read(self, size: int | None = -1) -> bytes:
            nonlocal unpacked
            content = super().read(size)
            unpacked = self._buffer.raw._pos  # type: ignore[attr-defined]
            return content

    monkeypatch.setattr(gzip, "GzipFile", Counted)
    with pytest.raises(DataError, match="continues after the 10 bytes"):
        read_idx(path, 3)
    # Of the 120 megabytes, the gzip module unpacks one buffer ahead.
    assert 26 <= unpacked < 2**18


def test_a_bomb_takes_no_memory(refused: Refused) -> None:
    assert len(BOMB) < 2**17
    assert "continues after the 10 bytes" in refused("idx", BOMB)
    assert "continues after" in refused("idx", gzip.compress(header(2, 1, 1) + b"ab") + BOMB)


def test_a_false_promise_takes_no_memory(refused: Refused) -> None:
    # The file is long enough for what it promises, but not of that.
    content = gzip.compress(header(40_000_000, 1, 1) + os.urandom(40_000))
    assert "ends after 40000 of 40000000" in refused("idx", content)


@pytest.fixture(params=["pipe", "device", "folder", "circle", "long", "none"])
def strange(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the path of something that is no regular file."""
    path = tmp_path / "strange"
    if request.param == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("This system has no pipes in folders.")
        os.mkfifo(path)
    elif request.param == "device":
        if not Path("/dev/zero").exists():
            pytest.skip("This system has no /dev/zero.")
        path.symlink_to("/dev/zero")
    elif request.param == "folder":
        path.mkdir()
    elif request.param == "circle":
        path.symlink_to(path)
    else:
        return tmp_path / ("x" * 300 if request.param == "long" else "no\0name")
    return path


def test_what_is_no_file_is_neither_waited_for_nor_read(strange: Path) -> None:
    with alarmed(), pytest.raises(DataError, match="cannot be read"):
        read_idx(strange, 1)


def test_what_is_no_file_is_no_file_of_a_dataset(strange: Path, tmp_path: Path) -> None:
    source = SOURCES["mnist"]
    place = tmp_path / "mnist"
    place.mkdir()
    for file in source.sha256 if "\0" not in strange.name else ():
        (place / file).symlink_to(strange)
    with alarmed(), pytest.raises(DataError, match="'mnist' lacks train-images"):
        files.find("mnist", tmp_path)


@pytest.mark.parametrize("name", ["no\0name", "x" * 300, "x/" * 3000])
def test_a_data_folder_of_an_impossible_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="is not a folder: correct --data"):
        files.find("mnist", tmp_path / name)
