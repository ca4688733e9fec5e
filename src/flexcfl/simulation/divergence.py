"""Training that comes to nothing for everybody, which no client is at fault for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import TrainingError
from flexcfl.protocol import Order, Vectors

__all__ = ["Divergence"]

PATIENCE = 3  # so many cohorts in a row may diverge, of which few may be left by drop-out


@dataclass
class Divergence:
    """Counts the cohorts in a row all of whose training diverged: ``times``."""

    times: int = PATIENCE - 1  # at the start there is nothing to hope for

    def look(
        self, order: Order[Any], updates: Vectors, loss: NDArray[np.float64], number: int
    ) -> None:
        """Raise a ``TrainingError`` where the training of whole cohorts comes to nothing.

        Those who follow a group that was divided are no cohort.

        One client whose training diverged is turned away by the guards. If it is everybody, from
        the beginning or in several cohorts, nothing is left to train, and no client is at fault.
        """
        if order.purpose == "placement" or len(loss) < 2:
            return
        each = zip(loss, updates, strict=True)
        fine = any(np.isfinite(own) and np.isfinite(update).all() for own, update in each)
        self.times = 0 if fine else self.times + 1
        if self.times >= PATIENCE:
            when = f"in round {number}" if number else "at the start"
            raise TrainingError(
                f"The training of all {len(loss)} clients that trained {when} diverged: lower the "
                "rate (--rate), local.l2 or local.prox."
            )
