"""Clients with data of their own, in the forms that people have them in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexcfl.data import Federation

Pair: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
Clients: TypeAlias = Mapping[str, Pair]

SHAPE, CLASSES = (2, 3), 4


@st.composite
def clients(draw: st.DrawFn, least: int = 1) -> Clients:
    """Draw clients in the order of their names, all with other numbers."""
    letters = st.text("abcdefgh", min_size=1, max_size=4)
    names = sorted(draw(st.sets(letters, min_size=1, max_size=5)))
    sizes = [draw(st.integers(least, 7)) for _ in names]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return {
        name: (rng.normal(size=(size, *SHAPE)).astype(np.float32), rng.integers(0, CLASSES, size))
        for name, size in zip(names, sizes, strict=True)
    }


def pool(own: Clients) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return examples, labels and owners, client after client."""
    x, y = (np.concatenate(column) for column in zip(*own.values(), strict=True))
    return x, y, np.repeat(list(own), [len(y) for _, y in own.values()])


def lay(folder: Path, own: Mapping[Any, Mapping[str, Any]]) -> Path:
    """Write a file for each client."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, arrays in own.items():
        np.savez(folder / f"{name}.npz", **arrays)
    return folder


def lay_whole(folder: Path, own: Clients) -> Path:
    return lay(folder, {name: {"x": x, "y": y} for name, (x, y) in own.items()})


def same(one: Federation, other: Federation) -> bool:
    """Whether two federations have the same clients with the same data, but for their name."""
    assert (one.names, one.classes, one.shape) == (other.names, other.classes, other.shape)
    for part in ("train", "test"):
        left, right = getattr(one, part), getattr(other, part)
        assert len(left) == len(right)
        for mine, theirs in zip(left, right, strict=True):
            np.testing.assert_array_equal(one.x[mine], other.x[theirs])
            np.testing.assert_array_equal(one.y[mine], other.y[theirs])
    return True


def uses_every_example_once(federation: Federation) -> bool:
    used = np.concatenate([federation.train.indices, federation.test.indices])
    return np.array_equal(np.sort(used), np.arange(len(federation.y)))
