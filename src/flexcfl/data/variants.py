"""Examples that are rotated or have permuted labels, without a copy of the pool.

A client that sees some of the ``N`` examples of the pool differently has *rows* beyond the pool:
``row = index + N * (labelling * 4 + turns)``. Rows below ``N`` are the unchanged examples.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

TURNS = 4  # quarter turns of a full rotation

Rows: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Variants:
    """The variants of a pool of ``examples``.

    ``labellings[k, label]`` is the label under labelling ``k`` for a label of the pool. Labelling 0
    is the pool's own, and each labelling is a permutation of the classes.
    """

    examples: int
    labellings: NDArray[np.int64]

    def rows(self, indices: ArrayLike, labelling: ArrayLike, turns: ArrayLike) -> Rows:
        """Return the rows of pool indices under labellings and quarter turns, broadcast together.

        >>> import numpy as np
        >>> variants = Variants(100, np.array([[0, 1, 2], [1, 2, 0]]))
        >>> variants.rows([7, 8], labelling=1, turns=[0, 3])
        array([407, 708])
        """
        way = np.asarray(labelling, dtype=np.int64) * TURNS + np.asarray(turns, dtype=np.int64)
        rows: Rows = np.asarray(indices, dtype=np.int64) + self.examples * way
        return rows

    def parts(self, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Return the pool index, the labelling and the quarter turns of each row."""
        way, indices = np.divmod(rows, self.examples)
        labelling, turns = np.divmod(way, TURNS)
        return indices, labelling, turns

    def labels(self, y: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
        """Return the labels of rows; ``y`` are the labels of the pool."""
        indices, labelling, _ = self.parts(rows)
        labels: NDArray[np.int64] = self.labellings[labelling, y[indices]]
        return labels

    def gather(
        self, x: NDArray[np.float32], y: NDArray[np.int64], rows: Rows
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the examples and labels of rows; turns go counter-clockwise in the last two axes.

        This is the reference implementation, against which faster ones are tested.
        """
        indices, _, turns = self.parts(rows)
        seen = x[indices]
        for quarter in range(1, TURNS):
            turned = turns == quarter
            if turned.any():
                seen[turned] = np.rot90(seen[turned], quarter, axes=(-2, -1))
        return seen, self.labels(y, rows)
