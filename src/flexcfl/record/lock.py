"""One process at a time on a folder: held by a lock that ends with the process that holds it."""

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.record import places

if sys.platform != "win32":
    import fcntl

__all__ = ["LOCK", "is_held", "locked"]

LOCK = ".lock"
# What a file system says that has no locks, as those of some clusters: better none than no run.
WITHOUT = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)
MOMENT, PAUSE = 0.5, 0.01  # seconds; to look takes a thousandth of the pause


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a folder for this process, or say that another one does."""
    file, held = None, False
    try:  # around all of it, for Ctrl-C comes at any moment
        with places.as_folder_error(path):
            file = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | disk.SAFE, 0o666)
            held = _held_soon(file) and _is(file, path / LOCK)
        if not held:
            raise SettingsError(
                f"Another process is at work in '{path}': wait until it is done, or stop it first."
            )
        yield
    finally:
        if held:
            with suppress(OSError):  # the folder may be gone
                disk.remove(path / LOCK)
        if file is not None:
            os.close(file)


def is_held(path: Path) -> bool:
    """Whether some process holds a folder now; to look leaves it as it is.

    Where there are no such locks, whoever left the file is taken to be still there.
    """
    try:
        file = os.open(path / LOCK, os.O_RDONLY | disk.SAFE)
    except OSError:  # nobody is there, or it is not for us to know
        return False
    try:
        if sys.platform == "win32":
            return True
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        return error.errno in WITHOUT
    finally:
        os.close(file)  # with which the lock ends
    return False


def _held_soon(file: int) -> bool:
    """Try for a moment, for somebody may only be looking whether the lock is held."""
    end = time.monotonic() + MOMENT
    while not (held := _held(file)) and time.monotonic() < end:
        time.sleep(PAUSE)
    return held


def _held(file: int) -> bool:
    if sys.platform == "win32":
        return True  # there is no such lock, so nobody is refused
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in WITHOUT:
            raise
    return True


def _is(file: int, path: Path) -> bool:
    """Whether an open file still has its name: who held the lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False
