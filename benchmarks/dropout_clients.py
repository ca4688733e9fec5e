"""Clients that miss only some parts of a round, implemented outside of the library."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexcfl.protocol import (
    CheckDrift,
    Evaluate,
    Evaluated,
    Executor,
    Flags,
    Migrate,
    Order,
    Received,
    Train,
)
from flexcfl.runner.hosting import SIMULATED
from flexcfl.runner.prepare import Prepared
from flexcfl.shifts.detection import Watch
from flexcfl.simulation import Simulation
from flexcfl.trust.faults import Behaviour

__all__ = ["EVERYTHING", "Partial", "Tally"]

EVERYTHING = frozenset({"training", "migration", "placement"})
LAST = 10  # rounds whose evaluations count


def part(order: Order[Any]) -> str:
    """Return the part of the round that an order belongs to; founding and placing are one part."""
    if isinstance(order, CheckDrift | Migrate):
        return "migration"
    return "training" if isinstance(order, Train) and not order.founding else "placement"


@dataclass
class Tally:
    """Hits and examples of the last rounds, for up-to-date and for outdated clients."""

    rounds: int
    hits: list[int] = field(default_factory=lambda: [0, 0])
    examples: list[int] = field(default_factory=lambda: [0, 0])
    outdated_there: int = 0

    def count(self, evaluated: Evaluated, own: Flags, outdated: Flags, away: Flags) -> None:
        """Add the clients' results on the models of their ``own`` groups."""
        for kind, rows in enumerate((own & ~outdated, own & outdated)):
            self.hits[kind] += int(evaluated.hits[rows].sum())
            self.examples[kind] += int(evaluated.examples[rows].sum())
        self.outdated_there += int((own & outdated & ~away).sum())


@dataclass(eq=False)
class Partly(Behaviour):
    """Clients that miss only the ``missed`` parts of a round."""

    missed: frozenset[str]
    tally: Tally
    watch: Watch

    def at(self, number: int, executor: Executor) -> Executor:
        """Return the executor of a round."""
        away = super().at(number, executor)

        def answered(order: Any) -> Any:
            if isinstance(order, Evaluate):
                return self._looked_at(order, executor, number)
            return away(order) if part(order) in self.missed else Received(executor(order))

        return answered

    def _looked_at(self, order: Evaluate, executor: Executor, number: int) -> Evaluated:
        evaluated = executor(order)
        if number > self.tally.rounds - LAST:
            clients, outdated = evaluated.clients, self._outdated(executor)
            absent = self.absence.away(number)
            away = np.zeros_like(outdated) if absent is None else absent
            own = order.model_of < len(order.models) - 1  # the last is the auxiliary one
            self.tally.count(evaluated, own, outdated[clients], away[clients])
        return evaluated

    def _outdated(self, executor: Executor) -> Flags:
        """Return the clients that would notice a drift now, without changing their state."""
        known = self.watch.memory()
        drifted = executor(CheckDrift(np.arange(self.watch.clients))).drifted
        self.watch.recall(known)
        return drifted


@dataclass(frozen=True)
class Partial:
    """Makes worlds whose clients miss parts of the rounds."""

    missed: frozenset[str]
    tally: Tally

    def world(self, prepared: Prepared) -> Simulation:
        """Return the world at the start of a run."""
        simulation, experiment = SIMULATED.world(prepared), prepared.experiment
        assert simulation.watch is not None
        own = (self.missed, self.tally, simulation.watch)
        told = (experiment.faults, None, prepared.roles, experiment.run.seed)
        simulation.behaviour = Partly(*told, *own)
        return simulation

    def __getattr__(self, name: str) -> Any:
        return getattr(SIMULATED, name)
