"""Files that survive a crash: written completely or not at all, and on disk when a call returns.

All changes of the disk are calls of ``os``. A symbolic link in place of a file is not followed, and
only regular files are read, so that an untrusted folder cannot point to other places.
"""

import errno
import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

__all__ = [
    *("PART", "SAFE", "Bytes"),
    *("append", "truncate", "flush", "make_folder", "read", "remove", "write", "write_in_order"),
]

Bytes: TypeAlias = bytes | memoryview

PART = ".part"  # the end of the name of a file that is being written
# The most bytes and parts of one write: smaller writes are slower, and larger ones sometimes too.
CHUNK, AT_ONCE = 2**20, 256
# A system without one of these flags does not need it. O_NONBLOCK is for pipes: opening one would
# wait for a process at the other end.
SAFE = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


def write(path: Path, parts: Iterable[Bytes]) -> None:
    """Replace a file in one step: after a crash it is either the old or the new one."""
    write_in_order({path: parts})


def write_in_order(files: Mapping[Path, Iterable[Bytes]]) -> None:
    """Replace files of one folder, one after the other, once all of them are on disk.

    Waiting for the disk takes time, so it is done once for all files. After a power failure, the
    last file may be there while others are missing.
    """
    parts = {path: path.with_name(f".{path.name}{PART}") for path in files}
    try:
        _fill({parts[path]: content for path, content in files.items()})
        for path, part in parts.items():
            os.replace(part, path)  # noqa: PTH105  (all changes of the disk are calls of os)
    except BaseException:
        for part in parts.values():
            with suppress(OSError):
                os.unlink(part)  # noqa: PTH108
        raise
    flush(next(iter(files)).parent)


def append(path: Path, content: Bytes) -> None:
    """Append to a file, or create it; call ``flush`` to make sure that the content is on disk."""
    with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
        _check_regular(file, path)
        _put(file, [memoryview(content)])


def truncate(path: Path, length: int) -> None:
    """Truncate a file to a length; remove it if the length is 0."""
    if not length:
        remove(path)
        return
    with _opened(path, os.O_WRONLY) as file:
        os.ftruncate(file, length)


def remove(path: Path) -> None:
    """Remove a file, if it exists."""
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108


def make_folder(path: Path) -> None:
    """Create a folder if it does not exist; a symbolic link in its place is an error."""
    with suppress(FileExistsError):
        os.mkdir(path)  # noqa: PTH102
        flush(path.parent)
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(path))


def flush(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on disk."""
    if not path.is_dir():
        _flushed(path)
        return
    # The path of a run's folder may be a link of its owner; inside it there are none. Windows
    # flushes names by itself, some file systems cannot flush them, some folders cannot be read.
    if os.name != "nt":
        try:
            _flushed(path.resolve())
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EINVAL):
                raise


def read(path: Path, most: int | None = None) -> bytes:
    """Return the content of a regular file, or its first ``most`` bytes."""
    with _opened(path, os.O_RDONLY) as file:
        _check_regular(file, path)
        with os.fdopen(file, "rb", closefd=False) as content:
            return content.read() if most is None else content.read(most)


def _flushed(path: Path) -> None:
    with _opened(path, os.O_RDONLY) as file:
        os.fsync(file)


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    file = os.open(path, flags | SAFE, 0o666)
    try:
        yield file
    finally:
        os.close(file)


def _check_regular(file: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))


def _fill(files: Mapping[Path, Iterable[Bytes]]) -> None:
    """Write files, and wait until they are on disk."""
    with ExitStack() as opened:
        handles = []
        for path, parts in files.items():
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            handles.append(opened.enter_context(_opened(path, flags)))
            _check_regular(handles[-1], path)
            _put(handles[-1], [memoryview(part).cast("B") for part in parts if len(part)])
        for handle in handles:
            os.fsync(handle)


def _put(file: int, parts: Sequence[memoryview]) -> None:
    """Write parts one after the other, many with each call."""
    pieces = [part[start : start + CHUNK] for part in parts for start in range(0, len(part), CHUNK)]
    while pieces:
        ends = itertools.accumulate(map(len, pieces[:AT_ONCE]))
        number = max(1, sum(end <= CHUNK for end in ends))
        count = _write_some(file, pieces[:number])
        while pieces and count >= len(pieces[0]):
            count -= len(pieces.pop(0))
        if count:
            pieces[0] = pieces[0][count:]


def _write_some(file: int, pieces: Sequence[memoryview]) -> int:
    """Write as much as the system accepts at once, and return the number of bytes written."""
    return os.writev(file, pieces) if hasattr(os, "writev") else os.write(file, pieces[0])
