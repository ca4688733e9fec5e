"""One process at a time on a folder: held by a lock that ends with the process that holds it."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.runner import places

if sys.platform != "win32":
    import fcntl

__all__ = ["LOCK", "locked"]

LOCK = ".lock"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a folder for this process, or say that another one does."""
    file, held = None, False
    try:  # around all of it, for Ctrl-C comes at any moment
        with places.told(path):
            file = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | disk.SAFE, 0o666)
            held = _held(file) and _is(file, path / LOCK)
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


def _held(file: int) -> bool:
    if sys.platform == "win32":
        return True  # there is no such lock, so nobody is refused
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
            raise
        # The file system has no locks, as those of some clusters: better none than no run.
    return True


def _is(file: int, path: Path) -> bool:
    """Whether an open file still has its name: who held the lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False
