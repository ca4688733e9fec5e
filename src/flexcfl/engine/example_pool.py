"""The pool of all clients' examples and labels, on one device.

Only this module gathers examples for the engine. Rows beyond the pool are variants of its examples,
which are computed when they are gathered: ``flexcfl.data.variants`` defines them.
"""

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from flexcfl.data.variants import TURNS, Variants
from flexcfl.protocol import Ids


class ExamplePool:
    """Examples ``x`` and labels ``y`` on one device, indexed by arrays of rows of any shape.

    Rows that are turned need examples whose last two axes have the same length.
    """

    def __init__(self, x: Tensor, y: Tensor, variants: Variants | None = None) -> None:
        self.x, self.y = x, y
        self.device = x.device
        self._labellings = (
            None if variants is None else torch.tensor(variants.labellings, device=x.device)
        )

    def inputs(self, rows: Tensor) -> Tensor:
        """Return the examples of rows: ``(*rows.shape, *shape of an example)``."""
        flat = rows.flatten()
        if self._labellings is None:
            seen = self.x.index_select(0, flat)  # several times as fast as indexing
        else:
            seen = self.x.index_select(0, flat % len(self.x))
            _turn(seen, flat // len(self.x) % TURNS)
        return seen.view(*rows.shape, *self.x.shape[1:])

    def check(self, rows: Ids) -> None:
        """Raise an error for rows that do not exist; compiled code would not notice."""
        ways = 1 if self._labellings is None else len(self._labellings) * TURNS
        if len(rows) and not 0 <= rows.min() <= rows.max() < ways * len(self.x):
            raise IndexError(f"rows lie between 0 and {ways * len(self.x) - 1}")

    def arrays(self, rows: Ids) -> tuple[NDArray[np.float32], NDArray[np.int64], Ids]:
        """Return flat examples and their labels as arrays, and the position of each row in them.

        The arrays are the pool itself or, if rows may be variants, copies of those that occur. Do
        not write to arrays of the pool.
        """
        if self._labellings is None:
            return *self._arrays, rows
        seen, places = np.unique(rows, return_inverse=True)
        chosen = torch.from_numpy(seen)
        x, y = self.inputs(chosen).flatten(1).numpy(), self.labels(chosen).numpy()
        return x, y, places.reshape(rows.shape)

    @cached_property
    def _arrays(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        return self.x.flatten(1).numpy(), self.y.numpy()

    def labels(self, rows: Tensor) -> Tensor:
        """Return the labels of rows, each under the labelling of its row."""
        if self._labellings is None:
            return self.y[rows]
        labelling = rows // (len(self.x) * TURNS)
        return self._labellings[labelling, self.y[rows % len(self.x)]]


def _turn(images: Tensor, turns: Tensor) -> None:
    """Turn each image by its number of quarter turns, counter-clockwise, in place."""
    for quarter in range(1, TURNS):
        chosen = (turns == quarter).nonzero().squeeze(1)
        if len(chosen):  # examples that are not images are never turned
            turned = torch.rot90(images.index_select(0, chosen), quarter, (-2, -1))
            images.index_copy_(0, chosen, turned)
