"""Folders of runs from strangers: any part is changed, and all checksums are made right again."""

import json
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexcfl.record.checkpoints import layout

Arrays: TypeAlias = list[NDArray[Any]]
Steps: TypeAlias = tuple[str | int, ...]

NEWEST = 3  # the round after which the runs were stopped
FILE = "arrays-3.safetensors"

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        3,
        7,
        127,
        2**31,
        2**53 + 1,
        2**63,
        -(2**62),
        10**30,
        10**400,
    ),
    *(0.5, -0.5, 1e308, math.nan, math.inf, "", "x", "../x", "/x", "\n", "\ud800", "rounds.csv"),
    *([], {}, [0], [[0, 0]], {"x": 1}, [None] * 12, "[run] rounds", "arrays-1.safetensors"),
)


def newest(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the content of the newest checkpoint, and its arrays."""
    path = folder / "checkpoints" / f"round-{NEWEST}.json"
    body = json.loads(path.read_bytes())["checkpoint"]
    found = []
    for file, number in body["arrays"]:
        place = layout.File(**body["files"][file])
        content = (folder / "checkpoints" / place.name).read_bytes()
        found.append(layout.arrays_in(content, place)[number])
    return body, found


def lay(folder: Path, body: Any, arrays: Arrays | None = None) -> None:
    """Put a checkpoint into a folder in the place of the newest, with right checksums."""
    inside = folder / "checkpoints"
    if arrays is not None:
        content = b"".join(layout.file_parts(arrays))
        (inside / FILE).write_bytes(content)
        file = layout.File(FILE, len(content), zlib.crc32(content))
        body = {**body, "files": [asdict(file)], "arrays": [[0, n] for n in range(len(arrays))]}
    head = {"format": "flexcfl checkpoint", "version": 1}
    head["checksum"] = zlib.crc32(json.dumps(body).encode("ascii"))
    text = json.dumps({**head, "checkpoint": body}).encode("ascii")
    (inside / f"round-{NEWEST}.json").write_bytes(text)


def seal_tables(folder: Path, body: dict[str, Any]) -> None:
    """Make a checkpoint match the current tables."""
    for table in body["content"]["about"]["tables"]:
        content = (folder / table["name"]).read_bytes()
        table["extent"] = {"length": len(content), "checksum": zlib.crc32(content)}


def steps_in(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Yield the way to every value within a JSON value."""
    yield steps
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from steps_in(inner, (*steps, key))


def at(value: Any, steps: Steps) -> Any:
    for step in steps:
        value = value[step]
    return value


@st.composite
def changed_json(draw: Any, body: Any) -> Any:
    """Draw a JSON value with some value in it changed, left out, doubled or put elsewhere."""
    body = json.loads(json.dumps(body))
    ways = list(steps_in(body))[1:]
    for _ in range(draw(st.integers(1, 2))):
        *way, last = draw(st.sampled_from(ways))
        try:
            inside = at(body, tuple(way))
            _change(draw, body, inside, last, ways)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # it is gone already
    return body


def _change(draw: Any, body: Any, inside: Any, last: Any, ways: Sequence[Steps]) -> None:
    deed = draw(st.sampled_from(["set", "set", "near", "drop", "add", "copy"]))
    old = inside[last]
    if deed == "near" and isinstance(old, int | float):
        inside[last] = old + draw(st.sampled_from([-1, 1, 0.5]))
    elif deed == "drop":
        del inside[last]
    elif deed == "add":
        if isinstance(inside, dict):
            inside["more"] = old
        else:
            inside.insert(last, old)
    elif deed == "copy":
        inside[last] = json.loads(json.dumps(at(body, draw(st.sampled_from(ways)))))
    else:
        inside[last] = draw(st.sampled_from(VALUES))


def _filled(value: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def fill(array: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(all="ignore"):
            return np.full(array.shape, np.array(value).astype(array.dtype))

    return fill


def _first(value: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def change(array: NDArray[Any]) -> NDArray[Any]:
        changed = array.copy()
        with np.errstate(all="ignore"):
            changed.reshape(-1)[:1] = np.array(value).astype(array.dtype)
        return changed

    return change


def _typed(dtype: str) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def cast(array: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(all="ignore"):
            return array.astype(dtype)

    return cast


DEEDS: tuple[Callable[[NDArray[Any]], NDArray[Any]], ...] = (
    *map(_filled, (-1, 0, 1, 2, 7, 100, 2**31, 2**62, -(2**62))),
    *map(_first, (-1, 1, 3, 100, 2**31, 2**62, -(2**62))),
    *map(_typed, ("float32", "float64", "int64", "int32", "int16", "int8", "bool")),
    lambda array: array[:0],
    lambda array: array[:-1],
    lambda array: array[::-1],
    lambda array: np.concatenate([array, array]),
    lambda array: np.concatenate([array, array[-1:]]),
    lambda array: array.reshape(-1),
    lambda array: array[np.newaxis],
    lambda array: array[..., np.newaxis],
    lambda array: array[..., :-1],
    lambda array: np.zeros((), array.dtype),
    lambda array: np.zeros((0, 3), array.dtype),
    lambda array: np.sort(array, axis=None).reshape(array.shape),
)


@st.composite
def changed_arrays(draw: Any, arrays: Arrays) -> Arrays:
    """Draw arrays of which some have other values, shapes or types."""
    changed = list(arrays)
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, len(arrays) - 1))
        array = changed[place]
        deed = draw(st.sampled_from(DEEDS))
        if array.ndim:
            changed[place] = deed(array)
    return changed


CELLS = [
    *(
        b"",
        b"-1",
        b"x",
        b"1e999",
        b"nan",
        b"9" * 30,
        b"9" * 5000,
        b'"',
        b'"a"',
        b"\0",
        b"\xff",
        b" 1",
    ),
    *(b"1.5", b"\r", b"=1+1", b"a,b", b"\xd9\xa1", b"1_0"),
]


@st.composite
def changed_table(draw: Any, text: bytes) -> bytes:
    """Draw a table of which a cell or a line is another, or is gone."""
    lines = text.splitlines(keepends=True)
    number = draw(st.integers(0, len(lines) - 1))
    deed = draw(st.sampled_from(["cell", "cell", "drop", "double", "cut", "empty", "long"]))
    if deed == "cell":
        cells = lines[number].rstrip(b"\r\n").split(b",")
        cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(CELLS))
        lines[number] = b",".join(cells) + b"\n"
    elif deed == "drop":
        del lines[number]
    elif deed == "double":
        lines.insert(number, lines[number])
    elif deed == "cut":
        return text[: draw(st.integers(0, len(text)))]
    elif deed == "long":
        lines[number] = b"1," * 70_000 + b"\n"
    return b"" if deed == "empty" else b"".join(lines)
