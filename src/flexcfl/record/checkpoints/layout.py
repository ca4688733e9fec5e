"""The format of a checkpoint: arrays in safetensors files, everything else in one JSON file.

``round-N.json`` lists the parts of the checkpoint of round N. Its arrays may be in several files
``arrays-M.safetensors``, because arrays that have not changed since an earlier checkpoint are not
written again. All files have checksums. Reference: https://huggingface.co/docs/safetensors (eight
bytes with the length of a JSON header, the header, the arrays).
"""

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from flexcfl import disk
from flexcfl.record.checkpoints.tree import UnfitError, rebuilt

FORMAT, VERSION = "flexcfl checkpoint", 1
PARTS = ("round", "files", "arrays", "content")
ROUND = re.compile(r"round-([0-9]{1,10})\.json")
ARRAYS = re.compile(r"arrays-[0-9]{1,10}\.safetensors")
# Those two, and temporary files of a checkpoint that was never finished.
ANY = re.compile(rf"{ROUND.pattern}|{ARRAYS.pattern}|\..*{re.escape(disk.PART)}")
DTYPES = {
    np.dtype(name): word
    for name, word in (
        *(("float16", "F16"), ("float32", "F32"), ("float64", "F64"), ("bool", "BOOL")),
        *(("int8", "I8"), ("int16", "I16"), ("int32", "I32"), ("int64", "I64")),
        *(("uint8", "U8"), ("uint16", "U16"), ("uint32", "U32"), ("uint64", "U64")),
    )
}


class UnreadableError(ValueError):
    """A file is not a valid part of a checkpoint; the message is the reason."""


@dataclass(frozen=True)
class File:
    """A file of arrays: its name, its length and its checksum (CRC-32)."""

    name: str
    length: int
    checksum: int


@dataclass(frozen=True)
class Index:
    """Where the arrays of a checkpoint are: the index of the file, and the number in it."""

    round: int
    files: tuple[File, ...]
    arrays: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Manifest(Index):
    """The parts of a checkpoint: ``content`` is JSON, in which numbers stand for arrays."""

    content: Any = None


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the JSON file of a checkpoint."""
    files = [asdict(file) for file in manifest.files]
    parts = (manifest.round, files, manifest.arrays, manifest.content)
    body = json.dumps(dict(zip(PARTS, parts, strict=True)))
    head = {"format": FORMAT, "version": VERSION, "checksum": _checksum(body)}
    # Concatenated, because the body may be long and should not be serialised twice.
    return f'{json.dumps(head)[:-1]}, "checkpoint": {body}}}\n'.encode("ascii")


def parse_manifest(text: bytes) -> Manifest:
    """Parse the JSON file of a checkpoint, or raise ``UnreadableError``."""
    whole, checksum = _loaded(text)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise UnreadableError("it is not a checkpoint of flexcfl")
    if whole.get("version") != VERSION:
        raise UnreadableError(
            f"it is of version {whole.get('version')!r:.20}, and this flexcfl reads {VERSION}"
        )
    body = whole.get("checkpoint")
    if not isinstance(body, dict) or whole.get("checksum") != checksum:
        raise UnreadableError("its checksum is wrong")
    return _manifest(body)


def _loaded(text: bytes) -> tuple[Any, int | None]:
    """Return the content of a JSON file, and the checksum that it should have."""
    try:
        whole = json.loads(text)
        body = whole.get("checkpoint") if isinstance(whole, dict) else None
        # The checksum of Python's own serialisation, which does not change when it is read back.
        return whole, _checksum(json.dumps(body)) if isinstance(body, dict) else None
    except (ValueError, RecursionError):  # also numbers too large or nesting too deep
        raise UnreadableError("it is not JSON") from None


def _manifest(body: dict[str, Any]) -> Manifest:
    try:
        index: Index = rebuilt(Index, {key: body.get(key) for key in PARTS[:-1]}, [])
    except UnfitError as error:
        raise UnreadableError(str(error)) from None
    names = [file.name for file in index.files]
    if not all(map(ARRAYS.fullmatch, names)) or len(set(names)) < len(names):
        raise UnreadableError("it names a file twice, or one that is none of a checkpoint's")
    if any(not 0 <= file < len(names) for file, _ in index.arrays):
        raise UnreadableError("it names an array of no file")
    return Manifest(index.round, index.files, index.arrays, body.get("content"))


def _checksum(body: str) -> int:
    return zlib.crc32(body.encode("ascii"))


def file_parts(arrays: Sequence[NDArray[Any]]) -> Iterator[disk.Bytes]:
    """Yield the parts of a safetensors file whose arrays are named by their numbers.

    The result equals that of ``safetensors.numpy.save``, but large arrays are not copied.
    """
    whole = [np.ascontiguousarray(array) for array in arrays]
    header, end = dict[str, Any](), 0
    for number, array in enumerate(whole):
        start, end = end, end + array.nbytes
        shape = list(arrays[number].shape)
        header[str(number)] = {
            "dtype": DTYPES[array.dtype],
            "shape": shape,
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode("ascii")
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for array in whole:
        if array.size:
            yield array.reshape(-1).view(np.uint8).data


def arrays_in(content: bytes, file: File) -> dict[int, NDArray[Any]]:
    """Return the arrays of a file by their numbers, or raise ``UnreadableError``."""
    if len(content) != file.length:
        raise UnreadableError(f"it has {len(content):,} bytes, not {file.length:,}")
    if zlib.crc32(content) != file.checksum:
        raise UnreadableError("its checksum is wrong")
    try:
        # Copies, which are writable and aligned.
        return {int(name): np.array(array) for name, array in load(content).items()}
    except (SafetensorError, ValueError, KeyError):
        raise UnreadableError("it is not a safetensors file") from None
