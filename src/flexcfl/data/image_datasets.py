"""Datasets of images: ``digits``, ``mnist``, ``femnist`` and ``fashion-mnist``."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from flexcfl.data.client_lists import IndexLists
from flexcfl.data.federation import Federation
from flexcfl.data.files import find
from flexcfl.data.images import (
    pixel_statistics,
    read_images_and_labels,
    read_train_and_test,
    standardised,
)
from flexcfl.data.options import (
    FORBID,
    Defaults,
    PoolOptions,
    Seed,
    partition_defaults,
    repartition,
)
from flexcfl.data.published_partitions import (
    CLASSES,
    FASHION_CLIENTS,
    FEMNIST_CLIENTS,
    MNIST_CLIENTS,
    published_fashion,
    published_femnist,
    published_mnist,
)

DIGITS = "sklearn/datasets/data/digits.csv.gz"  # 64 pixels and the digit in every line
DIGITS_SIDE, DIGITS_BRIGHTEST = 8, 16
EMNIST_CLASSES = 62  # 0 to 9, A to Z, a to z
FIRST_LETTER = 36  # the label of 'a'


@dataclass(frozen=True, config=FORBID)
class DigitsOptions(PoolOptions):
    """Settings of ``digits``."""

    defaults: ClassVar[Defaults] = partition_defaults(100, skew=0.5, test_share=0.2)

    partition: str = "classes"
    seed: Seed = 0


def load_digits(options: DigitsOptions, folder: Path | None = None) -> Federation:
    """Load the digits that come with scikit-learn; ``folder`` is not used.

    Reference: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine
    Learning Repository, 1998 (its test part, 1,797 images of 8 x 8 pixels).
    """
    # The file, not the function: importing scikit-learn takes longer than everything else that a
    # node of a network does for a message.
    table = np.loadtxt(str(distribution("scikit-learn").locate_file(DIGITS)), delimiter=",")
    images = table[:, :-1].reshape(-1, 1, DIGITS_SIDE, DIGITS_SIDE)
    x = np.ascontiguousarray(images / DIGITS_BRIGHTEST, np.float32)
    y = table[:, -1].astype(np.int64)
    return Federation("digits", x, y, *repartition(y, options), CLASSES)


@dataclass(frozen=True, config=FORBID)
class MnistOptions(PoolOptions):
    """Settings of ``mnist``; the default seed gives the published number of samples."""

    defaults: ClassVar[Defaults] = {
        "published": {"classes_per_client": 2},
        **partition_defaults(MNIST_CLIENTS),
    }

    partition: str = "published"
    seed: Seed = 733


def load_mnist(options: MnistOptions, folder: Path | None = None) -> Federation:
    """Read MNIST's four files and divide the 70,000 images among the clients."""
    images, labels = read_train_and_test("mnist", folder, CLASSES)
    y = np.concatenate(labels)
    parts = _divided(y, options, partial(published_mnist, y))
    x = standardised(images, *pixel_statistics(images))
    return Federation("mnist", x, y, *parts, CLASSES)


@dataclass(frozen=True, config=FORBID)
class FashionOptions(PoolOptions):
    """Settings of ``fashion-mnist``; the default seed gives the published number of samples."""

    defaults: ClassVar[Defaults] = {
        "published": {},
        **partition_defaults(FASHION_CLIENTS),
    }

    partition: str = "published"
    seed: Seed = 233


def load_fashion(options: FashionOptions, folder: Path | None = None) -> Federation:
    """Read Fashion-MNIST's four files and divide the images among the clients.

    The pool holds the 60,000 training images, then the test images. The published partition keeps
    the two apart; the other partitions mix them.
    """
    images, labels = read_train_and_test("fashion-mnist", folder, CLASSES)
    y = np.concatenate(labels)
    parts = _divided(y, options, partial(published_fashion, labels[0], labels[1]))
    x = standardised(images, *pixel_statistics(images[:1]))
    return Federation("fashion-mnist", x, y, *parts, CLASSES)


@dataclass(frozen=True, config=FORBID)
class FemnistOptions(PoolOptions):
    """Settings of ``femnist``; the default seed gives the published number of samples."""

    defaults: ClassVar[Defaults] = {
        "published": {},
        **partition_defaults(FEMNIST_CLIENTS),
    }

    partition: str = "published"
    seed: Seed = 748


def load_femnist(options: FemnistOptions, folder: Path | None = None) -> Federation:
    """Read EMNIST's ByClass test split and divide its letters a to j among the clients.

    Reference for the images: Cohen et al., "EMNIST: Extending MNIST to Handwritten Letters",
    IJCNN 2017.
    """
    files = find("femnist", folder)
    images, labels = read_images_and_labels(
        files["emnist-byclass-test-images-idx3-ubyte"],
        files["emnist-byclass-test-labels-idx1-ubyte"],
        EMNIST_CLASSES,
    )
    letters = (labels >= FIRST_LETTER) & (labels < FIRST_LETTER + CLASSES)
    y = labels[letters].astype(np.int64) - FIRST_LETTER
    parts = _divided(y, options, partial(published_femnist, y))
    return Federation("femnist", _upright(images[letters]), y, *parts, CLASSES)


def _upright(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Undo EMNIST's transposition and scale pixels to between 0 and 1."""
    upright = images.transpose(0, 2, 1)[:, None]
    return np.divide(upright, 255, out=np.empty(upright.shape, np.float32), casting="same_kind")


def _divided(
    y: NDArray[np.int64],
    options: PoolOptions,
    as_published: Callable[..., tuple[IndexLists, IndexLists]],
) -> tuple[IndexLists, IndexLists]:
    if options.partition == "published":
        return as_published(options.seed, **options.partition_settings())
    return repartition(y, options)
