"""The parsers that are fuzzed, by name, each with small files that it takes.

A further parser is one more entry: a function of a path, some files that it takes, and how many
times the size of the file it may need in memory.
"""

import gzip
import json
import struct
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.data import from_leaf
from flexcfl.data.images import read_idx
from flexcfl.errors import DataError, SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.layers import SettingsLayer, options_layer
from flexcfl.experiment.resolve import resolve
from flexcfl.record import csv_tables as tables
from flexcfl.record import reading
from flexcfl.record.checkpoints import UnfitError, flattened, layout, rebuilt
from flexcfl.record.folder import Extent
from flexcfl.record.tables import Membership, Timing
from flexcfl.settings import assignments
from fuzz.harness import MisdeedError, Target

__all__ = ["TARGETS", "TOKENS"]

# What has a meaning in one of the formats: sizes of a header, and words of JSON and of TOML.
TOKENS = (
    *(b"\0\0\0\0", b"\0\0\0\1", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff"),
    *(b"\x1f\x8b\x08", b"null", b"true", b"NaN", b"nan", b"-inf", b"1e400", b"-1", b"9" * 5000),
    *(b"0x" + b"f" * 5000, b"[", b"[[", b"]", b"{}", b'"\\ud800"', b'"\\u0000"', b'"', b"\n"),
    *(b"'''", b"\\", b"=", b".", b"1979-05-27T07:32:00Z", b"07:32:00", b"../../x", b"[" * 2000),
)

IDX = (
    struct.pack(">4I", 0x803, 2, 3, 4) + bytes(range(24)),
    struct.pack(">2I", 0x801, 5) + bytes(5),
    struct.pack(">4I", 0x803, 0, 28, 28),
)
GZIP = (
    *map(gzip.compress, IDX),
    gzip.compress(IDX[0][:9]) + gzip.compress(IDX[0][9:]) + bytes(8),
    gzip.compress(struct.pack(">2I", 0x801, 10**6) + bytes(10**6)),
)
ANN = {"x": [[0.5, 1], [2, -3e-2]], "y": [0, 2]}
LEAF = tuple(
    json.dumps(content).encode()
    for content in (
        {"users": ["ann"], "user_data": {"ann": ANN}},
        {"users": ["ann", 7], "num_samples": [2, 2], "user_data": {"ann": ANN, "7": ANN}},
        {"users": ["ann"], "user_data": {"ann": {"x": [[[1], [2]]], "y": [1]}}},
    )
)
TOML = (
    toml.written(resolve([]).experiment).encode(),
    b'[data]\nname = "mnist"\npartition = "iid"\n[algorithm]\nname = "ifca"\ngroups = 3\n',
    b'shift = "none"\ndrift = "mmd"\n[data]\nname = "leaf"\nfolder = "x"\nshape = [1, 28, 28]\n',
    b'data.name = "digits"\ndata.arrivals = [{ round = 5, share = 0.5 }]\nlocal = { rate = 1e-3 }',
    b'[model]\nname = "package.module:factory"\n[shift]\nname = ["swap-part", "incremental"]\n',
)
WORDS = (
    b"local.rate=0.1\0data.clients=20\0shift=none",
    b"data.name=leaf\0data.folder=there\0data.shape=[1, 28, 28]",
    b'algorithm.name="cfl"\0run={ seed = 3, device = "cpu" }',
)


STATE = (None, np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True, False]))
MADE: list[NDArray[Any]] = []
BODY = {
    "round": 3,
    "files": [{"name": "arrays-3.safetensors", "length": 8, "checksum": 1}],
    "arrays": [[0, 0], [0, 1]],
    "content": {"state": flattened(STATE, MADE), "about": {"seconds": 0.5}},
}
CHECKPOINT = (json.dumps(BODY).encode(),)
ARRAYS = (b"".join(layout.file_parts(MADE)), b"".join(layout.file_parts([])))
TABLES = (
    tables.to_csv([[each.name for each in fields(Timing)], [1, 0.5, 0.25], [2, 1e-9, 0.0]]),
    tables.to_csv([[each.name for each in fields(Membership)], [0, 7, 1], [2, 7, None]]),
)


def _checkpoint(path: Path) -> None:
    """Take bytes for the body of a checkpoint whose checksum is right, and for the whole of it."""
    content = path.read_bytes()
    with suppress(ValueError, RecursionError):
        checksum = zlib.crc32(json.dumps(json.loads(content)).encode())
        head = f'"format": "{layout.FORMAT}", "version": {layout.VERSION}, "checksum": {checksum}'
        with _told():
            layout.parse_manifest(f'{{{head}, "checkpoint": '.encode() + content + b"}")
    with _told():
        layout.parse_manifest(content)


def _arrays(path: Path) -> None:
    """Take bytes for a file of arrays whose checksum is right, and build a state of them."""
    content = path.read_bytes()
    file = layout.File("arrays-1.safetensors", len(content), zlib.crc32(content))
    with _told():
        arrays = list(layout.arrays_in(content, file).values())
        kind = tuple[NDArray[np.float32] | None, ...]
        rebuilt(kind, list(range(len(arrays))), arrays)


def _tables(path: Path) -> None:
    """Take bytes for each of a run's tables, of which a checkpoint has the right extent."""
    extent = Extent().plus(path.read_bytes())
    for name in ("timings.csv", "membership.csv"):
        with _told():
            reading.rows_at_checkpoint(path.parent, {name: extent}, 0)


@contextmanager
def _told() -> Iterator[None]:
    """Make of the reason for which a checkpoint cannot be used the sentence that resume makes."""
    try:
        yield
    except (layout.UnreadableError, UnfitError) as error:
        raise SettingsError(f"It cannot be used: {error}.") from None


def _lay_tables(folder: Path, content: bytes) -> Path:
    for name in ("timings.csv", "membership.csv"):
        (folder / name).write_bytes(content)
    return folder / name


def _idx(path: Path) -> None:
    with suppress(DataError):
        read_idx(path, 1)
    read_idx(path, 3)


def _lay_leaf(folder: Path, content: bytes) -> Path:
    for part, file in (("train", content), ("test", LEAF[0])):
        (folder / part).mkdir(exist_ok=True)
        (folder / part / "all.json").write_bytes(file)
    return folder


def _leaf(folder: Path) -> None:
    with suppress(DataError):
        from_leaf(folder, shape=(1, 2, 1))
    from_leaf(folder)


def _experiment(path: Path) -> None:
    """Resolve an experiment; what could be run must be written down and read again as well."""
    experiment = resolve([SettingsLayer("file", toml.read(path))]).experiment
    text = toml.written(experiment)
    again = resolve([SettingsLayer("file", tomllib.loads(text))]).experiment
    if toml.written(again) != text:
        raise MisdeedError(f"written down and read again, it is another: {text!r}")


def _words(path: Path) -> None:
    """Take ``--set`` words as a command line has them: any bytes but 0, which parts them."""
    words = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")
    resolve([options_layer({}, assignments(words))])


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "idx": Target(_idx, IDX, multiple=2),
        # What a compressed file honestly promises may be 1032 times its size.
        "gzip": Target(_idx, GZIP, multiple=1300),
        # A list of one number is four bytes of JSON and above a hundred of Python.
        "leaf": Target(_leaf, LEAF, multiple=48, lay=_lay_leaf),
        # A part of a key is two bytes of TOML and a thousand in its parser; but files are small.
        "toml": Target(_experiment, TOML, multiple=600),
        "checkpoint": Target(_checkpoint, CHECKPOINT, multiple=100),
        "arrays": Target(_arrays, ARRAYS, multiple=8),
        "tables": Target(_tables, tuple(map(str.encode, TABLES)), multiple=200, lay=_lay_tables),
        "words": Target(_words, WORDS, multiple=600),
    }
)
