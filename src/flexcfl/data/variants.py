"""Examples seen in another way: turned, or under labels of another meaning, without a copy.

A pool of ``N`` examples is never copied. A client that sees some of them differently has *rows*
beyond the pool: ``row = index + N * (labelling * 4 + turns)``. Rows below ``N`` are the pool's own.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["TURNS", "Variants"]

TURNS = 4  # quarter turns until an image is as it was

Rows: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Variants:
    """The ways in which a pool of ``examples`` can be seen.

    ``labellings[k, label]`` is what a label of the pool is called under labelling ``k``; number 0
    is the pool's own, and each is a permutation of the classes.
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
        """Return the labels of rows, of which ``y`` has the pool's."""
        indices, labelling, _ = self.parts(rows)
        labels: NDArray[np.int64] = self.labellings[labelling, y[indices]]
        return labels

    def gather(
        self, x: NDArray[np.float32], y: NDArray[np.int64], rows: Rows
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the examples and labels of rows; turns go counter-clockwise in the last two axes.

        This is the plain definition, to which faster ones are held.
        """
        indices, _, turns = self.parts(rows)
        seen = x[indices]
        for quarter in range(1, TURNS):
            turned = turns == quarter
            if turned.any():
                seen[turned] = np.rot90(seen[turned], quarter, axes=(-2, -1))
        return seen, self.labels(y, rows)
