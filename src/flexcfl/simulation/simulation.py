"""A federation whose clients are simulated, round by round."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.clustering import best_aligned
from flexcfl.protocol import (
    NO_GROUP,
    CheckDrift,
    Checked,
    Choose,
    Chosen,
    DistinctDraws,
    Evaluate,
    Evaluated,
    Executor,
    Ids,
    Keep,
    Kept,
    Migrate,
    Order,
    Place,
    Placed,
    Settle,
    Train,
    Trained,
    Vectors,
    among,
    lowest_finite,
)
from flexcfl.shifts import DataView, Timeline, TimelineMemory
from flexcfl.shifts.detection import Samples, Watch, WatchMemory
from flexcfl.simulation.divergence import Divergence
from flexcfl.simulation.keepsakes import Keepsake, Keepsakes, KeepsakesMemory
from flexcfl.trust.faults import Behaviour, StaleAnswers
from flexcfl.trust.privacy import PrivacyGuard

if TYPE_CHECKING:  # the engine is passed in, so importing this module does not import torch
    from flexcfl.engine import Engine

ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, eq=False)
class Memory:
    """The state of a simulation between two rounds: what clients remember, and their data.

    ``released`` counts the updates that each client released, if privacy is on. ``diverged`` counts
    the consecutive cohorts in which all training diverged.
    """

    world: TimelineMemory
    keepsakes: KeepsakesMemory
    watch: WatchMemory | None
    outdated: StaleAnswers | None = None
    released: Ids | None = None
    diverged: int = 0

    @property
    def number(self) -> int:
        """The round after which this state was taken."""
        return self.world.number


@dataclass(eq=False)
class Simulation:
    """A federation whose clients are simulated: ``at(round)`` fulfils the orders of that round.

    A client's draws depend only on (seed, purpose, round, client) and on how often it has already
    trained for that purpose in the round, not on the other clients.

    Attributes:
        engine: Trains and evaluates; None if no order needs the model.
        timeline: The clients' data in each round.
        seed: The seed of the run.
        watch: Detects drift for the clients; None if no order asks for it.
        keepsakes: The origins and directions that clients keep.
        behaviour: Clients that fail or attack, if any.
        privacy_guard: Protects updates before they leave clients, if privacy is on.
        false_labels: The engine of attackers that train on reversed labels, if any.
        divergence: Ends a run whose training diverges; None if the caller does this.

    """

    engine: "Engine | None"
    timeline: Timeline
    seed: int
    watch: Watch | None = None
    keepsakes: Keepsakes = field(default_factory=Keepsakes)
    behaviour: Behaviour | None = None
    privacy_guard: PrivacyGuard | None = None
    false_labels: "Engine | None" = None
    divergence: Divergence | None = field(default_factory=Divergence)
    _noticed: int = 0

    def at(self, number: int) -> Executor:
        """Return the executor of round ``number``; the start is round 0."""
        if self.watch is not None:
            self._notice(self.watch, number)
        moment = _Moment(self, self.timeline.at(number), number)
        return DistinctDraws(
            moment if self.behaviour is None else self.behaviour.at(number, moment)
        )

    def _notice(self, watch: Watch, number: int) -> None:
        """Tell the watch what has changed since the last round; rounds may have been skipped."""
        if number < self._noticed:  # back to an earlier round: anything may be different
            watch.stir(np.arange(watch.clients))
        for each in range(self._noticed + 1, number + 1):
            watch.stir(self.timeline.at(each).shifted)
        self._noticed = number

    @property
    def releases(self) -> int:
        """The largest number of updates that any one client released, 0 without privacy."""
        return 0 if self.privacy_guard is None else self.privacy_guard.most

    def memory(self) -> Memory:
        """Return a snapshot after a round, which later rounds do not affect."""
        watch = None if self.watch is None else self.watch.memory()
        return Memory(
            self.timeline.memory(),
            self.keepsakes.memory(),
            watch,
            None if self.behaviour is None else self.behaviour.memory(),
            None if self.privacy_guard is None else self.privacy_guard.memory(),
            0 if self.divergence is None else self.divergence.times,
        )

    def recall(self, memory: Memory) -> None:
        """Restore a snapshot."""
        self.timeline.recall(memory.world)
        self.keepsakes.recall(memory.keepsakes)
        if self.watch is not None and memory.watch is not None:
            self.watch.recall(memory.watch)
        if self.behaviour is not None and memory.outdated is not None:
            self.behaviour.recall(memory.outdated)
        if self.privacy_guard is not None and memory.released is not None:
            self.privacy_guard.recall(memory.released)
        if self.divergence is not None:
            self.divergence = Divergence(memory.diverged)
        self._noticed = memory.world.number

    def examples(self, rows: Ids) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the examples and labels of rows, as clients see them."""
        federation, variants = self.timeline.federation, self.timeline.variants
        x, y = federation.x, federation.y
        return (x[rows], y[rows]) if variants is None else variants.gather(x, y, rows)

    def shifted(self, number: int) -> Ids:
        """Return the clients whose data changed when round ``number`` began."""
        return self.timeline.at(number).shifted


@dataclass(frozen=True, eq=False)
class _Moment:
    """The clients of one round, with their data in it."""

    simulation: Simulation
    view: DataView
    number: int

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        fulfil: dict[type[Order[Any]], Callable[[Any], Any]] = {
            Train: self._train,
            Evaluate: self._evaluate,
            Place: self._place,
            Keep: self._keep,
            Migrate: self._migrate,
            Choose: self._choose,
            Settle: self._settle,
            CheckDrift: self._check,
        }
        privacy_guard = self.simulation.privacy_guard
        if privacy_guard is not None and order.trains:
            within_budget: Any = among(order, ~privacy_guard.spent(order.clients))
            order = within_budget
        reply: ReplyT = fulfil[type(order)](order)
        return reply

    @property
    def engine(self) -> "Engine":
        """The engine of clients that compute."""
        if self.simulation.engine is None:
            raise RuntimeError("no client can train or evaluate: give the simulation an engine")
        return self.simulation.engine

    def _train(self, order: Train) -> Trained:
        clients, models, given = order.clients, order.models, order.model_of
        model_of = self._fitting(clients, models) if isinstance(given, str) else given
        updates, loss = self._updates(order, clients, models, model_of)
        if self.simulation.divergence is not None:
            self.simulation.divergence.check(order, updates, loss, self.number)
        if isinstance(given, str) or order.placing:
            self._remember(clients[model_of != NO_GROUP])
        return Trained(clients, updates, self.view.train.sizes_of(clients), loss, model_of)

    def _updates(
        self, order: Train | Migrate, clients: Ids, models: Vectors, model_of: Ids
    ) -> tuple[Vectors, NDArray[np.float64]]:
        """Return the updates and losses of an order's clients, as they leave the clients."""
        simulation, privacy_guard = self.simulation, self.simulation.privacy_guard
        updates, loss = self._trained(self.engine, order, clients, models, model_of)
        if simulation.false_labels is not None and simulation.behaviour is not None:
            own = np.flatnonzero(simulation.behaviour.roles.hostile[clients])
            engine = simulation.false_labels
            updates[own], loss[own] = self._trained(
                engine, order, clients[own], models, model_of[own]
            )
        if privacy_guard is not None:
            updates = privacy_guard.protected(updates, clients, order.purpose, self.number)
        return updates, loss

    def _trained(
        self,
        engine: "Engine",
        order: Train | Migrate,
        clients: Ids,
        models: Vectors,
        model_of: Ids,
    ) -> tuple[Vectors, NDArray[np.float64]]:
        """Train clients; a client without a model gets a zero update and the loss NaN."""
        able = model_of != NO_GROUP
        if not able.all():
            updates = np.zeros((len(clients), models.shape[1]), dtype=np.float32)
            loss = np.full(len(clients), np.nan)
            updates[able], loss[able] = self._trained(
                engine, order, clients[able], models, model_of[able]
            )
            return updates, loss
        rows = self.view.train.gathered(clients)
        draws = (self.simulation.seed, order.purpose, self.number)
        rngs = (seeds.generator(*draws, *own) for own in order.draws(clients))
        return engine.train(models, model_of, rows, order.local, rngs)

    def _fitting(self, clients: Ids, models: Vectors) -> Ids:
        """Return for each client the model with the lowest finite loss on its training data."""
        groups = np.arange(len(models))
        pairs = Evaluate(
            np.repeat(clients, len(groups)), models, np.tile(groups, len(clients)), "train"
        )
        loss = self._evaluate(pairs).loss.reshape(len(clients), len(groups))
        return lowest_finite(loss)

    def _evaluate(self, order: Evaluate) -> Evaluated:
        owned = self.view.train if order.split == "train" else self.view.test
        rows = owned.gathered(order.clients)
        loss, hits = self.engine.evaluate(order.models, order.model_of, rows)
        return Evaluated(order.clients, loss, hits, rows.sizes)

    def _place(self, order: Place) -> Placed:
        keepsake = Keepsake(order.origin, order.directions)
        self.simulation.keepsakes.receive(order.clients, keepsake)
        groups = len(order.directions)
        return self._migrate(Migrate(order.clients, order.local, groups, repeats=order.repeats))

    def _keep(self, order: Keep) -> Kept:
        keepsake = Keepsake(order.origin, order.directions)
        self.simulation.keepsakes.receive(order.clients, keepsake)
        self._remember(order.clients)
        return Kept(order.clients)

    def _migrate(self, order: Migrate) -> Placed:
        """Let clients pre-train from the origin that they keep, and choose a group (Equation 8).

        A client without a keepsake, or whose training diverges, gets ``NO_GROUP`` and does not
        remember its data.
        """
        clients = order.clients
        group_of = np.full(len(clients), NO_GROUP, dtype=np.int64)
        for keepsake, own in self.simulation.keepsakes.divided(clients):
            group_of[own] = self._aligned(order, clients[own], keepsake)
        self._remember(clients[group_of != NO_GROUP])
        return Placed(order.clients, group_of)

    def _aligned(self, order: Migrate, clients: Ids, keepsake: Keepsake) -> Ids:
        origin, first = keepsake.origin[np.newaxis], np.zeros(len(clients), dtype=np.int64)
        updates, _ = self._updates(order, clients, origin, first)
        return best_aligned(updates, keepsake.directions)

    def _choose(self, order: Choose) -> Chosen:
        chosen = self._fitting(order.clients, order.models)
        self._remember(order.clients[chosen != NO_GROUP])
        return Chosen(order.clients, chosen)

    def _settle(self, order: Settle) -> Kept:
        self._remember(order.clients)
        return Kept(order.clients)

    def _check(self, order: CheckDrift) -> Checked:
        watch = self.simulation.watch
        if watch is None:
            raise RuntimeError("no client watches for drift: give the simulation a Watch")
        return Checked(order.clients, watch.check(order.clients, self._samples))

    def _remember(self, clients: Ids) -> None:
        """Let clients that have been placed remember their current data for drift detection."""
        if self.simulation.watch is not None:
            self.simulation.watch.settle(clients, self._samples(clients))

    def _samples(self, clients: Ids) -> Samples:
        return Samples(
            counts=self.view.label_counts_of(clients),
            first_sizes=self.simulation.timeline.start.train.sizes_of(clients),
            examples=lambda place: self.simulation.examples(self.view.train[clients[place]]),
        )
