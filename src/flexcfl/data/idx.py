"""IDX files, the format of MNIST and its kin: a small header, then unsigned bytes.

Reference: http://yann.lecun.com/exdb/mnist/ (a big-endian magic number of the type 8 and the number
of dimensions, one 32-bit size per dimension, the values with the last dimension fastest).
"""

import gzip
import math
from io import BufferedIOBase
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.files import UNREADABLE, forbidden, opened
from flexcfl.errors import DataError

__all__ = ["Bytes", "read_idx", "read_images_and_labels"]

Bytes: TypeAlias = NDArray[np.uint8]

UNSIGNED_BYTE = 8
CHUNK = 2**20
# Deflate cannot do better, so a header that promises more than this is broken.
GREATEST_COMPRESSION = 1032


def read_idx(path: Path, dimensions: int) -> Bytes:
    """Return the array of a plain or gzip-compressed IDX file of unsigned bytes."""
    try:
        with opened(path) as stream:
            shape = _header(stream, path, dimensions)
            return _body(stream, path, math.prod(shape)).reshape(shape)
    except PermissionError:
        raise forbidden(path) from None
    except (*UNREADABLE, ValueError) as error:  # also sizes, one of them 0, that no array can have
        raise DataError(
            f"'{path}' cannot be read ({_reason(error)}): it is damaged or incomplete, "
            "get it again."
        ) from None


def read_images_and_labels(
    images_path: Path, labels_path: Path, classes: int, shape: tuple[int, int] = (28, 28)
) -> tuple[Bytes, Bytes]:
    """Return images and their labels, checked against each other and what is expected of them."""
    images, labels = read_idx(images_path, 3), read_idx(labels_path, 1)
    if images.shape[1:] != shape:
        height, width = images.shape[1:]
        raise DataError(
            f"'{images_path}' holds images of {height} x {width} pixels where "
            f"{shape[0]} x {shape[1]} are expected: is it the right file?"
        )
    if len(images) != len(labels) or len(images) == 0:
        raise DataError(
            f"'{images_path}' holds {len(images)} images and '{labels_path}' {len(labels)} labels: "
            "both must be of one number, at least one; get them again together."
        )
    if labels.max() >= classes:
        raise DataError(
            f"'{labels_path}' holds the label {labels.max()} where 0 to {classes - 1} are "
            "expected: is it the right file?"
        )
    return images, labels


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
    # It grows with what arrives, so that a false promise takes no memory.
    values = bytearray()
    while len(values) < expected:
        chunk = stream.read(min(CHUNK, expected - len(values)))
        if not chunk:
            raise EOFError(f"it ends after {len(values)} of {expected} bytes")
        values += chunk
    # Reading past the last byte also makes gzip check its sum.
    if stream.read(1):
        raise EOFError(f"it goes on after the {expected} bytes that its header promises")
    return np.frombuffer(values, dtype=np.uint8)


def _demand_room(stream: BufferedIOBase, size: int, expected: int) -> None:
    """Refuse a header that promises more than a file of this size can hold."""
    if not isinstance(stream, gzip.GzipFile):
        rest = size - stream.tell()
        if expected > rest:
            raise EOFError(f"it ends after {rest} of {expected} bytes")
    elif expected > GREATEST_COMPRESSION * size:
        raise EOFError(f"its header promises {expected} bytes, it is too short for that")


def _reason(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error).rstrip(".")
