"""Detection of training that diverges for all clients, so that no single client is at fault."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import TrainingError
from flexcfl.protocol import Order, Vectors

PATIENCE = 3  # diverged cohorts in a row that end a run; dropout may leave small cohorts


@dataclass
class Divergence:
    """Counts the consecutive cohorts in which all training diverged, as ``times``."""

    times: int = PATIENCE - 1  # the first cohort that diverges ends the run

    def check(
        self, order: Order[Any], updates: Vectors, loss: NDArray[np.float64], number: int
    ) -> None:
        """Raise a ``TrainingError`` if the training of whole cohorts diverges.

        Clients that follow a divided group are not a cohort. The guards reject the update of a
        single client that diverges. If all clients diverge, at the start or in several cohorts in a
        row, no client is at fault and the run cannot continue.
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
