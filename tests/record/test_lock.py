"""One process at a time in a folder."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pytest

from flexcfl.errors import SettingsError
from flexcfl.record.lock import LOCK, is_held, locked

HOLDER = """
import sys, pathlib
from flexcfl.record.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""

unix = pytest.mark.skipif(sys.platform == "win32", reason="there is no such lock")


def test_a_lock_is_there_while_it_is_held_and_then_gone(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path):
            assert [path.name for path in tmp_path.iterdir()] == [LOCK]
        assert list(tmp_path.iterdir()) == []


@unix
def test_a_second_one_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with locked(tmp_path):
        for _ in range(2):
            with pytest.raises(SettingsError, match="Another process is using "):
                locked(tmp_path).__enter__()
        assert (tmp_path / LOCK).exists()
    with locked(tmp_path):
        pass


def test_an_error_gives_it_back(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked(tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_one_that_was_left_behind_refuses_nobody(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    with locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@unix
def test_it_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(SettingsError, match="Another process is using "):
            locked(tmp_path).__enter__()
        other.kill()
        other.wait()
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists()


@unix
def test_of_many_at_the_same_moment_never_two_have_it(tmp_path: Path) -> None:
    threads = 8
    ready, inside = Barrier(threads), []

    def work(_number: int) -> int:
        ready.wait()
        had = 0
        for _ in range(100):
            try:
                with locked(tmp_path):
                    inside.append(1)
                    assert len(inside) == 1
                    inside.pop()
                    had += 1
            except SettingsError:
                continue
        return had

    with ThreadPoolExecutor(threads) as pool:
        assert sum(pool.map(work, range(threads))) > 0
    assert list(tmp_path.iterdir()) == []


def test_no_file_stays_open(tmp_path: Path) -> None:
    with locked(tmp_path):
        first = os.open(os.devnull, os.O_RDONLY)
        os.close(first)
    for _ in range(3):
        with locked(tmp_path):
            pass
    again = os.open(os.devnull, os.O_RDONLY)
    os.close(again)
    assert again <= first


def test_a_link_in_its_place_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / LOCK).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match="cannot be used"):
        locked(tmp_path).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


def test_a_folder_that_is_not_there_is_reported_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot be used \(No such file or directory"):
        locked(tmp_path / "nowhere").__enter__()


def test_a_folder_that_goes_meanwhile_is_no_trouble(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with locked(folder):
        (folder / LOCK).unlink()
        folder.rmdir()
    assert list(tmp_path.iterdir()) == []


@unix
def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", missing)
    with locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@unix
def test_looking_shows_whether_a_lock_is_held_and_does_not_change_it(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    with locked(tmp_path):
        assert is_held(tmp_path)
        assert is_held(tmp_path)
    assert not is_held(tmp_path)
    (tmp_path / LOCK).touch()  # of a process that was killed
    assert not is_held(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


@unix
def test_looking_at_a_lock_does_not_take_it(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    stop = Event()

    def look() -> None:
        while not stop.is_set():
            is_held(tmp_path)
            (tmp_path / LOCK).touch()

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        try:
            for _ in range(200):
                with locked(tmp_path):
                    pass
        finally:
            stop.set()
        looking.result()
