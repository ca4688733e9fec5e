"""A lock on a folder: one process at a time holds it, and it ends with that process."""

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.record import run_folders

if sys.platform != "win32":
    import fcntl

LOCK = ".lock"
# Errors of file systems without locks, as on some clusters: a run without a lock beats no run.
WITHOUT = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)
MOMENT, PAUSE = 0.5, 0.01  # seconds; a look at the lock takes a thousandth of the pause


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a folder for this process, or raise ``SettingsError`` if another process holds it."""
    file, held = None, False
    try:  # around everything, because Ctrl-C can come at any moment
        with run_folders.as_folder_error(path):
            file = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | disk.SAFE, 0o666)
            held = _held_soon(file) and _is(file, path / LOCK)
        if not held:
            raise SettingsError(
                f"Another process is using '{path}': wait until it is done, or stop it first."
            )
        yield
    finally:
        if held:
            with suppress(OSError):  # the folder may be gone
                disk.remove(path / LOCK)
        if file is not None:
            os.close(file)


def is_held(path: Path) -> bool:
    """Whether a process holds a folder now; the check changes nothing.

    On a file system without locks, a folder counts as held while its lock file exists.
    """
    try:
        file = os.open(path / LOCK, os.O_RDONLY | disk.SAFE)
    except OSError:  # there is no lock file, or we may not read it
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
        os.close(file)  # which releases the lock
    return False


def _held_soon(file: int) -> bool:
    """Try for a moment, because another process may only be checking the lock."""
    end = time.monotonic() + MOMENT
    while not (held := _held(file)) and time.monotonic() < end:
        time.sleep(PAUSE)
    return held


def _held(file: int) -> bool:
    if sys.platform == "win32":
        return True  # Windows has no such lock, so no process is refused
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in WITHOUT:
            raise
    return True


def _is(file: int, path: Path) -> bool:
    """Whether an open file is still at its path: its previous holder may have removed it."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False
