"""The parsers that are fuzzed, by name, each with small files that it takes.

A further parser is one more entry: a function of a path, some files that it takes, and how many
times the size of the file it may need in memory.
"""

import gzip
import json
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from flexcfl.data import leaf
from flexcfl.data.idx import read_idx
from flexcfl.errors import DataError
from flexcfl.runner import toml
from flexcfl.runner.layers import Layer, spoken
from flexcfl.runner.resolve import resolve
from flexcfl.settings import assignments
from fuzz.harness import MisdeedError, Target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
        leaf(folder, shape=(1, 2, 1))
    leaf(folder)


def _experiment(path: Path) -> None:
    """Resolve an experiment; what could be run must be written down and read again as well."""
    experiment = resolve([Layer("file", toml.read(path))]).experiment
    text = toml.written(experiment)
    again = resolve([Layer("file", tomllib.loads(text))]).experiment
    if toml.written(again) != text:
        raise MisdeedError(f"written down and read again, it is another: {text!r}")


def _words(path: Path) -> None:
    """Take ``--set`` words as a command line has them: any bytes but 0, which parts them."""
    words = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")
    resolve([spoken({}, assignments(words))])


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "idx": Target(_idx, IDX, multiple=2),
        # What a compressed file honestly promises may be 1032 times its size.
        "gzip": Target(_idx, GZIP, multiple=1300),
        # A list of one number is four bytes of JSON and above a hundred of Python.
        "leaf": Target(_leaf, LEAF, multiple=48, lay=_lay_leaf),
        # A part of a key is two bytes of TOML and a thousand in its parser; but files are small.
        "toml": Target(_experiment, TOML, multiple=600),
        "words": Target(_words, WORDS, multiple=600),
    }
)
