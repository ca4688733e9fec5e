"""Pools of images: unsigned bytes turned into float32 without ever holding a second copy."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.data import aligned
from flexcfl.data.files import find
from flexcfl.data.idx import Bytes, read_images_and_labels

__all__ = ["pixel_statistics", "read_train_and_test", "standardised"]

Figures: TypeAlias = NDArray[np.float64]

CHUNK = 256  # images; small enough for what is made of them to stay in a cache
# Added to the deviation of every pixel, as published, so that constant pixels become 0.
FLOOR = 0.001


def read_train_and_test(
    name: str, folder: Path | None, classes: int
) -> tuple[list[Bytes], list[NDArray[np.int64]]]:
    """Return the training and the test images of MNIST or its kin, and their labels."""
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
    # Sums of integers are exact, whatever the order and the number of images.
    total = sum(chunk.sum(axis=0, dtype=np.int64) for chunk in _chunks(parts))
    squares = sum(
        np.square(chunk, dtype=np.int32).sum(axis=0, dtype=np.int64) for chunk in _chunks(parts)
    )
    mean = np.asarray(total / count)
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 0))


def standardised(parts: Sequence[Bytes], mean: Figures, deviation: Figures) -> NDArray[np.float32]:
    """Return one pool of shape (images, 1, height, width) with ``(x - mean) / (std + 0.001)``."""
    pool = aligned.empty((sum(len(images) for images in parts), *mean.shape))
    shift, scale = mean.astype(np.float32), (deviation + FLOOR).astype(np.float32)
    start = 0
    for chunk in _chunks(parts):
        target = pool[start : start + len(chunk)]
        np.subtract(chunk, shift, out=target)
        target /= scale
        start += len(chunk)
    return pool[:, None]


def _chunks(parts: Sequence[Bytes]) -> Iterator[Bytes]:
    for images in parts:
        for start in range(0, len(images), CHUNK):
            yield images[start : start + CHUNK]
