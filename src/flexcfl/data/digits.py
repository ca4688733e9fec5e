"""Scikit-learn's handwritten digits: small real images that need no download.

Reference: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
Repository, 1998 (its test part, 1,797 images of 8 x 8 pixels). By default 100 clients have two
neighbouring digits each, in mildly unequal numbers; every image is used exactly once.
"""

from importlib.metadata import distribution
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from flexcfl.data.federation import Federation
from flexcfl.data.options import FORBID, Defaults, PoolOptions, Seed, own_partitions, repartition

__all__ = ["DigitsOptions", "load_digits"]

CLASSES = 10
CLIENTS = 100
SIDE, BRIGHTEST = 8, 16
FILE = "sklearn/datasets/data/digits.csv.gz"  # 64 pixels and the digit in every line


@dataclass(frozen=True, config=FORBID)
class DigitsOptions(PoolOptions):
    """Settings of ``digits``."""

    defaults: ClassVar[Defaults] = own_partitions(CLIENTS, skew=0.5, test_share=0.2)

    partition: str = "classes"
    seed: Seed = 0


def load_digits(options: DigitsOptions, folder: Path | None = None) -> Federation:
    """Take the digits out of scikit-learn; ``folder`` is not used."""
    # Its file, and not its function: to import scikit-learn takes longer than all else that a node
    # of a network does for a message.
    table = np.loadtxt(str(distribution("scikit-learn").locate_file(FILE)), delimiter=",")
    x = np.ascontiguousarray(table[:, :-1].reshape(-1, 1, SIDE, SIDE) / BRIGHTEST, np.float32)
    y = table[:, -1].astype(np.int64)
    return Federation("digits", x, y, *repartition(y, options), CLASSES)
