"""Files that survive a crash: the order of disk changes, and links that are not followed."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexcfl import disk
from tests.reliability.faults import Disk, Fault


def changes(watched: Disk) -> list[tuple[str, str]]:
    return [(call.name, str(call.path)) for call in watched.done]


def test_a_file_takes_its_place_when_it_is_whole_and_safe(tmp_path: Path) -> None:
    with Disk(tmp_path) as watched:
        disk.write(tmp_path / "a", [b"one", memoryview(b"two")])
    assert (tmp_path / "a").read_bytes() == b"onetwo"
    assert changes(watched) == [
        *(("open", ".a.part"), ("write", ".a.part"), ("fsync", ".a.part")),
        *(("replace", ".a.part"), ("fsync", ".")),
    ]


def test_a_folder_is_safe_when_it_is_made(tmp_path: Path) -> None:
    with Disk(tmp_path) as watched:
        disk.make_folder(tmp_path / "inner")
        disk.make_folder(tmp_path / "inner")
    assert changes(watched) == [("mkdir", "inner"), ("fsync", ".")]


def test_what_is_added_is_safe_once_it_is_flushed(tmp_path: Path) -> None:
    with Disk(tmp_path) as watched:
        disk.append(tmp_path / "a", b"1")
        disk.append(tmp_path / "a", b"2")
        disk.flush(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"12"
    assert changes(watched) == [*[("open", "a"), ("write", "a")] * 2, ("fsync", "a")]


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_after_an_error_the_old_file_is_there_and_nothing_else(at: int, tmp_path: Path) -> None:
    disk.write(tmp_path / "a", [b"old"])
    with Disk(tmp_path, Fault(at, "error", errno.ENOSPC)), pytest.raises(OSError, match="No space"):
        disk.write(tmp_path / "a", [b"new"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


def test_what_a_crash_has_left_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".a.part").write_bytes(b"much longer than the new one")
    disk.write(tmp_path / "a", [b"new"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new"}


@pytest.mark.parametrize("vectors", [True, False])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.binary(max_size=20), max_size=300), most=st.integers(1, 30))
def test_a_disk_that_takes_little_at_a_time_gets_all_of_it(
    parts: list[bytes], most: int, vectors: bool, tmp_path: Path
) -> None:
    real = os.write

    def reluctant(file: int, content: Any) -> int:
        return real(file, bytes(content)[:most])

    def reluctant_vectors(file: int, contents: Sequence[Any]) -> int:
        return reluctant(file, b"".join(contents))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", reluctant)
        if vectors:
            patch.setattr(os, "writev", reluctant_vectors, raising=False)
        else:
            patch.delattr(os, "writev", raising=False)
        disk.write(tmp_path / "a", parts)
    assert disk.read(tmp_path / "a") == b"".join(parts)


def test_cutting_leaves_the_beginning_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    disk.append(path, b"123456")
    disk.truncate(path, 4)
    assert disk.read(path) == b"1234"
    assert disk.read(path, 2) == b"12"
    disk.truncate(path, 0)
    assert not path.exists()
    disk.truncate(path, 0)
    disk.remove(path)


def test_a_link_in_a_files_place_leads_nowhere(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"mine")
    link.symlink_to(target)
    for change in (
        lambda: disk.append(link, b"more"),
        lambda: disk.truncate(link, 1),
        lambda: disk.flush(link),
        lambda: disk.read(link),
    ):
        with pytest.raises(OSError, match="symbolic links"):
            change()
    disk.write(link, [b"new"])
    assert not link.is_symlink()
    link.unlink()
    link.symlink_to(target)
    disk.remove(link)
    assert target.read_bytes() == b"mine"


def test_the_folder_itself_may_be_named_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    disk.write(tmp_path / "link" / "a", [b"new"])
    disk.make_folder(tmp_path / "link" / "inner")
    assert (tmp_path / "real" / "a").read_bytes() == b"new"


def test_a_link_in_place_of_what_is_being_written_leads_nowhere(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    (tmp_path / ".a.part").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        disk.write(tmp_path / "a", [b"new"])
    assert target.read_bytes() == b"mine"


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_folder_is_a_folder(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "inner"
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere") if kind == "link" else place.touch()
    with pytest.raises(NotADirectoryError):
        disk.make_folder(place)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for change in (
        lambda: disk.read(pipe),
        lambda: disk.append(pipe, b"1"),
        lambda: disk.truncate(pipe, 1),
    ):
        with pytest.raises(OSError, match=r"Not a regular file|No such device"):
            change()


def test_a_folder_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"Is a directory|Not a regular file"):
        disk.read(tmp_path)


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = os.open(os.devnull, os.O_RDONLY)
    os.close(before)
    disk.write(tmp_path / "a", [b"1"])
    disk.append(tmp_path / "a", b"2")
    disk.flush(tmp_path / "a")
    disk.truncate(tmp_path / "a", 1)
    disk.read(tmp_path / "a")
    for at in (1, 2, 3, 4, 5):
        with Disk(tmp_path, Fault(at, "error", errno.EIO)), pytest.raises(OSError, match="Input"):
            disk.write(tmp_path / "a", [b"1"])
    after = os.open(os.devnull, os.O_RDONLY)
    os.close(after)
    assert after <= before
