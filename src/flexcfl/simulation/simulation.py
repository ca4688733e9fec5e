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

if TYPE_CHECKING:  # an engine is handed in; who only reads this module need not wait for torch
    from flexcfl.engine import Engine

__all__ = ["Memory", "Simulation"]

ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, eq=False)
class Memory:
    """All that the clients of a simulation know between two rounds, and which data they have.

    ``released`` counts the updates that left each client, where they want privacy, and ``diverged``
    the cohorts in a row all of whose training did.
    """

    world: TimelineMemory
    keepsakes: KeepsakesMemory
    watch: WatchMemory | None
    outdated: StaleAnswers | None = None
    released: Ids | None = None
    diverged: int = 0

    @property
    def number(self) -> int:
        """The round after which this was known."""
        return self.world.number


@dataclass(eq=False)
class Simulation:
    """A federation whose clients are simulated: ``at(round)`` fulfils the orders of that round.

    What a client draws depends on (seed, purpose, round, client) alone, and on how often it trained
    for that purpose in the round before, whoever else was asked with it. ``timeline`` says which
    data clients have in a round. ``watch`` is how they notice that these have drifted, and is None
    where nobody will ask. ``keepsakes`` are what clients were sent to keep. ``behaviour`` is what
    clients that fail or attack make of it all, ``privacy_guard`` how updates leave clients, where
    these want privacy, and ``false_labels`` the engine of attackers that train on labels the other
    way round. ``engine`` is None where no order needs the model. ``divergence`` ends a run whose
    training comes to nothing, and is None where others see to that.
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
        """Let clients notice what has changed since the last round, were rounds left out or not."""
        if number < self._noticed:  # back to an earlier one: anything may be different
            watch.stir(np.arange(watch.clients))
        for each in range(self._noticed + 1, number + 1):
            watch.stir(self.timeline.at(each).shifted)
        self._noticed = number

    @property
    def releases(self) -> int:
        """How many updates left the client of which most did, where that is counted."""
        return 0 if self.privacy_guard is None else self.privacy_guard.most

    def memory(self) -> Memory:
        """Return all that is known after a round, which does not change with the simulation."""
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
        """Be as after the round of which this was remembered."""
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
        """Return examples and labels as a client sees them."""
        federation, variants = self.timeline.federation, self.timeline.variants
        x, y = federation.x, federation.y
        return (x[rows], y[rows]) if variants is None else variants.gather(x, y, rows)

    def shifted(self, number: int) -> Ids:
        """Return the clients whose data changed when round ``number`` began."""
        return self.timeline.at(number).shifted


@dataclass(frozen=True, eq=False)
class _Moment:
    """The clients of one round, with the data that they have in it."""

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
            willing: Any = among(order, ~privacy_guard.spent(order.clients))
            order = willing
        reply: ReplyT = fulfil[type(order)](order)
        return reply

    @property
    def engine(self) -> "Engine":
        """The engine of clients that compute."""
        if self.simulation.engine is None:
            raise RuntimeError("nobody computes here: give the simulation an engine")
        return self.simulation.engine

    def _train(self, order: Train) -> Trained:
        clients, models, given = order.clients, order.models, order.model_of
        model_of = self._fitting(clients, models) if isinstance(given, str) else given
        updates, loss = self._updates(order, clients, models, model_of)
        if self.simulation.divergence is not None:
            self.simulation.divergence.look(order, updates, loss, self.number)
        if isinstance(given, str) or order.placing:
            self._remember(clients[model_of != NO_GROUP])
        return Trained(clients, updates, self.view.train.sizes_of(clients), loss, model_of)

    def _updates(
        self, order: Train | Migrate, clients: Ids, models: Vectors, model_of: Ids
    ) -> tuple[Vectors, NDArray[np.float64]]:
        """Return what clients of an order learn from their models, as it leaves them."""
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
        """Train clients; one that has no model learns nothing, and its loss is no number."""
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
        """Let clients pre-train from the origin that they keep, and choose (Equation 8).

        Who keeps nothing, or whose training diverges, has no group to name, and until then
        remembers no data either.
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
            raise RuntimeError("nobody watches for drift here: give the simulation a Watch")
        return Checked(order.clients, watch.check(order.clients, self._samples))

    def _remember(self, clients: Ids) -> None:
        """Let clients remember what their data are like: they have been placed."""
        if self.simulation.watch is not None:
            self.simulation.watch.settle(clients, self._samples(clients))

    def _samples(self, clients: Ids) -> Samples:
        return Samples(
            counts=self.view.label_counts_of(clients),
            first_sizes=self.simulation.timeline.start.train.sizes_of(clients),
            examples=lambda place: self.simulation.examples(self.view.train[clients[place]]),
        )
