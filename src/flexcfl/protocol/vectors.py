"""What travels: flat float32 models, client ids and group numbers."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FIGURE_BYTES",
    "FLAG_BYTES",
    "FLOAT32_BYTES",
    "NO_GROUP",
    "Flags",
    "Ids",
    "Vector",
    "Vectors",
]

Vector: TypeAlias = NDArray[np.float32]
Vectors: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

NO_GROUP = -1  # the group of a client that has not been placed yet

FLOAT32_BYTES = 4
FIGURE_BYTES = 8  # a count or a loss, as one 64-bit number
FLAG_BYTES = 1  # yes or no
