"""What travels: flat float32 models, client ids and group numbers."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]
"""One model, or one update."""
Vectors: TypeAlias = NDArray[np.float32]
"""Several models or updates, one in each row."""
Ids: TypeAlias = NDArray[np.int64]
"""Numbers of clients or groups."""
Flags: TypeAlias = NDArray[np.bool_]
"""One boolean for each client."""

NO_GROUP = -1
"""The group of a client that has not been placed yet."""

FLOAT32_BYTES = 4
"""Bytes for one parameter of a model."""
FIGURE_BYTES = 8
"""Bytes for a count or a loss, which is one 64-bit number."""
FLAG_BYTES = 1  # yes or no
