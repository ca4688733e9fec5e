"""Images in IDX files, the format of MNIST and its variants, read into pools of float32.

An IDX file is a small header, then unsigned bytes. Reference: http://yann.lecun.com/exdb/mnist/ (a
big-endian magic number of the type 8 and the number of dimensions, one 32-bit size per dimension,
the values with the last dimension fastest).
"""

import gzip
import math
from collections.abc import Iterator, Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.files import UNREADABLE, find, open_file, permission_error
from flexcfl.errors import DataError

Bytes: TypeAlias = NDArray[np.uint8]
Figures: TypeAlias = NDArray[np.float64]

SIDE = 28  # pixels
UNSIGNED_BYTE = 8
BYTES_AT_ONCE = 2**20
# The highest compression ratio of deflate: a header that promises more is broken.
GREATEST_COMPRESSION = 1032
CACHE_LINE = 64  # bytes
IMAGES_AT_ONCE = 256  # few enough to stay in the cache
# Added to the standard deviation of every pixel, as published, so that constant pixels become 0.
FLOOR = 0.001


def read_idx(path: Path, dimensions: int) -> Bytes:
    """Return the array of a plain or gzip-compressed IDX file of unsigned bytes."""
    try:
        with open_file(path) as stream:
            shape = _header(stream, path, dimensions)
            return _body(stream, path, math.prod(shape)).reshape(shape)
    except PermissionError:
        raise permission_error(path) from None
    except (*UNREADABLE, ValueError) as error:  # a ValueError is a shape that no array can have
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise DataError(
            f"'{path}' cannot be read ({reason}): it is damaged or incomplete, get it again."
        ) from None


def read_images_and_labels(
    images_path: Path, labels_path: Path, classes: int
) -> tuple[Bytes, Bytes]:
    """Return images and their labels, checked against each other and against the expected sizes."""
    images, labels = read_idx(images_path, 3), read_idx(labels_path, 1)
    height, width = images.shape[1:]
    if (height, width) != (SIDE, SIDE):
        raise DataError(
            f"'{images_path}' holds images of {height} x {width} pixels instead of {SIDE} x "
            f"{SIDE}: check that it is the right file."
        )
    if len(images) != len(labels) or len(images) == 0:
        raise DataError(
            f"'{images_path}' holds {len(images)} images and '{labels_path}' {len(labels)} labels, "
            "but both need the same number, at least one: get them again together."
        )
    if labels.max() >= classes:
        raise DataError(
            f"'{labels_path}' holds the label {labels.max()}, outside of 0 to {classes - 1}: check "
            "that it is the right file."
        )
    return images, labels


def read_train_and_test(
    name: str, folder: Path | None, classes: int
) -> tuple[list[Bytes], list[NDArray[np.int64]]]:
    """Return the training and the test images of MNIST or a variant, and their labels."""
    files = find(name, folder)
    pairs = [
        read_images_and_labels(
            files[f"{part}-images-idx3-ubyte"], files[f"{part}-labels-idx1-ubyte"], classes
        )
        for part in ("train", "t10k")
    ]
    return [images for images, _ in pairs], [labels.astype(np.int64) for _, labels in pairs]


def pixel_statistics(parts: Sequence[Bytes]) -> tuple[Figures, Figures]:
    """Return the mean and the standard deviation of each pixel over several stacks of images."""
    count = sum(len(images) for images in parts)
    # Sums of integers are exact, in any order and for any number of images.
    total = sum(chunk.sum(axis=0, dtype=np.int64) for chunk in _chunks(parts))
    squares = sum(
        np.square(chunk, dtype=np.int32).sum(axis=0, dtype=np.int64) for chunk in _chunks(parts)
    )
    mean = np.asarray(total / count)
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 0))


def standardised(parts: Sequence[Bytes], mean: Figures, deviation: Figures) -> NDArray[np.float32]:
    """Return one pool of shape (images, 1, height, width) with ``(x - mean) / (std + 0.001)``."""
    pool = aligned_empty((sum(len(images) for images in parts), *mean.shape))
    shift, scale = mean.astype(np.float32), (deviation + FLOOR).astype(np.float32)
    start = 0
    for chunk in _chunks(parts):
        target = pool[start : start + len(chunk)]
        np.subtract(chunk, shift, out=target)
        target /= scale
        start += len(chunk)
    return pool[:, None]


def aligned_empty(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return an uninitialised float32 array that begins at a cache line.

    Vector instructions load 32 or 64 bytes at once. A load that crosses two cache lines takes
    twice as long, which made training a fifth slower. NumPy aligns its arrays to 16 bytes only.

    >>> aligned_empty((3, 5)).ctypes.data % CACHE_LINE
    0
    """
    size = math.prod(shape) * np.dtype(np.float32).itemsize
    room = np.empty(size + CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + size].view(np.float32).reshape(shape)


def _header(stream: BufferedIOBase, path: Path, dimensions: int) -> tuple[int, ...]:
    magic = bytes((0, 0, UNSIGNED_BYTE, dimensions))
    found = stream.read(4)
    if found != magic:
        raise DataError(
            f"'{path}' is not an IDX file of unsigned bytes in {dimensions} dimensions: it begins "
            f"with {found.hex(' ') or 'nothing'}, not {magic.hex(' ')}."
        )
    sizes = stream.read(4 * dimensions)
    if len(sizes) < 4 * dimensions:
        raise EOFError("it ends inside its header")
    return tuple(np.frombuffer(sizes, dtype=">u4").tolist())


def _body(stream: BufferedIOBase, path: Path, expected: int) -> Bytes:
    _demand_room(stream, path.stat().st_size, expected)
    # The buffer grows with the data, so that a false header takes no memory.
    values = bytearray()
    while len(values) < expected:
        chunk = stream.read(min(BYTES_AT_ONCE, expected - len(values)))
        if not chunk:
            raise EOFError(f"it ends after {len(values)} of {expected} bytes")
        values += chunk
    # Reading past the last byte also makes gzip verify its checksum.
    if stream.read(1):
        raise EOFError(f"it continues after the {expected} bytes that its header promises")
    return np.frombuffer(values, dtype=np.uint8)


def _demand_room(stream: BufferedIOBase, size: int, expected: int) -> None:
    """Raise an error if the header promises more than a file of this size can hold."""
    if not isinstance(stream, gzip.GzipFile):
        rest = size - stream.tell()
        if expected > rest:
            raise EOFError(f"it ends after {rest} of {expected} bytes")
    elif expected > GREATEST_COMPRESSION * size:
        raise EOFError(f"its header promises {expected} bytes, but it is too short for that")


def _chunks(parts: Sequence[Bytes]) -> Iterator[Bytes]:
    for images in parts:
        for start in range(0, len(images), IMAGES_AT_ONCE):
            yield images[start : start + IMAGES_AT_ONCE]
