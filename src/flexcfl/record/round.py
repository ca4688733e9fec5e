"""One finished round, as everybody hears of it that follows a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flexcfl.protocol import Serving
from flexcfl.record.tables import GROUPS, ROUNDS, GroupFigures, RoundFigures, Rows

__all__ = ["Round"]


@dataclass(frozen=True, eq=False)
class Round:
    """One finished round: its rows in all tables, the models in service, the algorithm's state.

    ``present`` counts the clients that have arrived.
    """

    rows: Rows
    present: int
    serving: Serving
    state: Any

    @property
    def figures(self) -> RoundFigures:
        """What the round showed."""
        found: RoundFigures = self.rows[ROUNDS][0]
        return found

    @property
    def groups(self) -> Sequence[GroupFigures]:
        """What the round showed of each group."""
        return self.rows[GROUPS]

    def __repr__(self) -> str:
        known = {"accuracy": self.figures.accuracy, "loss": self.figures.loss}
        words = [f"{name} {value:.4g}" for name, value in known.items() if value is not None]
        return f"Round({', '.join([str(self.figures.round), *words])})"
