"""FlexCFL: groups founded by clustering updates, which newcomers and drifted clients join.

Duan, Liu, Ji, Wu, Liang, Chen, Tan: Flexible Clustered Federated Learning for Client-Level Data
Distribution Shift. IEEE TPDS 2022, Algorithms 2 and 3, Equations 6 to 8.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from flexcfl.aggregation import MEAN, Rule, shared, stepped
from flexcfl.algorithms.cold_start import Founded, clustered, each_its_own, pretrained
from flexcfl.algorithms.flexcfl_options import FlexcflOptions, RccOptions
from flexcfl.algorithms.migration import settled, verdicts
from flexcfl.algorithms.options import WithOptions
from flexcfl.clustering import cluster
from flexcfl.errors import SettingsError
from flexcfl.protocol import (
    FLOAT32_BYTES,
    NO_GROUP,
    Clustering,
    Conversation,
    Flags,
    Ids,
    Initial,
    Keep,
    Local,
    Migrate,
    Place,
    Serving,
    Train,
    Vector,
    Vectors,
    ask,
)

Found: TypeAlias = tuple[Ids, Ids]  # clients, and the group that each of them joins


@dataclass(frozen=True, eq=False)
class FlexcflState:
    """The groups' models and directions, the common origin, and each client's group.

    ``drifted`` flags the clients whose data have changed and that have not been placed again yet.
    """

    models: Vectors
    group_of: Ids
    drifted: Flags
    origin: Vector
    directions: Vectors
    clustering: Clustering | None


@dataclass(frozen=True, init=False)
class FlexCFL(WithOptions):
    r"""Clustered training over groups that clients find from one common origin :math:`w_0`.

    At the start :math:`\alpha m` founders pre-train from :math:`w_0` and are clustered by their
    updates. The mean update of a group's founders is its direction. A client without a group also
    pre-trains from :math:`w_0`, and joins the group whose direction has the largest cosine to its
    update (Equation 8). Each group trains by FedAvg; between groups models are shared by
    ``flexcfl.aggregation.shared``. A group without selected clients keeps its model. Before each
    round, clients whose data have drifted find their group again on their own, from the :math:`w_0`
    and the directions that they keep.

    The paper's ablations (Section 5.2) are fields: with ``RccOptions`` the centres are random
    clients instead of clusters of founders, and ``placement`` may be random. Without ``migrates``
    it is FedGroup.
    """

    local: Local
    options: FlexcflOptions | RccOptions = field(default_factory=FlexcflOptions)
    placement: Literal["aligned", "random"] = "aligned"
    migrates: bool = True
    rule: Rule = MEAN

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[FlexcflState]:
        """Found the groups (Algorithm 3), and send their founders what migration needs."""
        origin = initial(rng)
        founded = yield from self._found(origin, present, rng)
        group_of = yield from self._kept(founded, origin)
        ahead = founded.directions if self.options.first_model == "pretrained" else 0
        return FlexcflState(
            models=np.tile(origin, (len(founded.directions), 1)) + ahead,
            group_of=group_of,
            drifted=np.zeros(len(group_of), dtype=np.bool_),
            origin=origin,
            directions=founded.directions,
            clustering=founded.clustering,
        )

    def round(
        self, state: FlexcflState, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[FlexcflState]:
        """Place drifted clients and newcomers, train inside the groups, share between them."""
        drawn = self._drawn(state, rng)
        if self.migrates:
            drifted = yield from verdicts(state.drifted, state.group_of, present)
            state = replace(state, drifted=drifted)
        again = yield from self._migrate(np.flatnonzero(state.drifted), state, drawn)
        state = _joined(state, again)  # a client that has lost its keepsakes is a newcomer again
        newcomers = cohort[state.group_of[cohort] == NO_GROUP]
        state = _joined(state, (yield from self._place(newcomers, state, drawn)))
        members = cohort[state.group_of[cohort] != NO_GROUP]
        order = Train(members, state.models, state.group_of[members], self.local)
        trained = yield from ask(order)
        if not len(trained.clients):
            return state
        models = stepped(state.models, trained, self.rule, rng)
        return replace(state, models=shared(models, self.options.eta_g, self.options.sharing))

    def serving(self, state: FlexcflState) -> Serving:
        """Serve each client its group's model; the auxiliary model is the mean of all groups."""
        auxiliary = state.models.mean(axis=0, dtype=np.float64).astype(np.float32)
        exchanged = len(state.models) if self.options.eta_g and len(state.models) > 1 else 0
        return Serving(
            state.models, state.group_of, auxiliary, state.clustering, exchanged=exchanged
        )

    def newcomer(self, state: FlexcflState) -> FlexcflState:
        """Return the state for a federation of one client that has no group yet."""
        return replace(
            state, group_of=np.array([NO_GROUP]), drifted=np.array([False]), clustering=None
        )

    def _found(
        self, origin: Vector, present: Flags, rng: np.random.Generator
    ) -> Conversation[Founded]:
        options, local = self.options, self.options.pretraining(self.local)
        if isinstance(options, RccOptions):
            centres = options.groups
            founders = yield from pretrained(origin, centres, centres, present, local, rng)
            return each_its_own(founders, len(present), self.rule, rng)
        groups, most_groups = options.groups, options.most_groups
        number = options.alpha * (most_groups if groups == "auto" else groups)
        self._check_newcomers(number, present)
        least = 1 if groups == "auto" else groups
        founders = yield from pretrained(origin, number, least, present, local, rng)
        found = cluster(
            founders.clients, founders.updates, groups, options.measure, rng, most_groups
        )
        return clustered(founders, found, len(present), self.rule, rng)

    def _check_newcomers(self, founders: int, present: Flags) -> None:
        if self.placement == "random" and min(founders, present.sum()) == len(present):
            raise SettingsError(
                f"All {len(present)} clients would be founders and nobody is left to be placed at "
                "random: lower the founders per group (--set algorithm.alpha=N) or the groups."
            )

    def _kept(self, founded: Founded, origin: Vector) -> Conversation[Ids]:
        """Send founders what migration needs; one that does not answer is a newcomer again."""
        founders = np.flatnonzero(founded.group_of != NO_GROUP)
        if self.migrates and self.placement == "random":
            kept = yield from settled(founders)
        elif self.migrates:
            kept = (yield from ask(Keep(founders, origin, founded.directions))).clients
        else:
            kept = founders
        return _without(founded.group_of, np.setdiff1d(founders, kept))

    def _drawn(self, state: FlexcflState, rng: np.random.Generator) -> Ids:
        """Return a random group for each client if groups are drawn, otherwise an empty array."""
        if self.placement != "random":
            return np.empty(0, dtype=np.int64)
        # For all clients, so that a client's group does not depend on which others are placed.
        return rng.integers(len(state.models), size=len(state.group_of))

    def _migrate(self, due: Ids, state: FlexcflState, drawn: Ids) -> Conversation[Found]:
        """Let drifted clients repeat their cold start (Algorithm 2, lines 4 to 6)."""
        if not len(due):
            return due, due
        if self.placement == "random":
            return (yield from self._assign(due, drawn))
        local, groups = self.options.pretraining(self.local), len(state.models)
        placed = yield from ask(Migrate(due, local, groups))
        return placed.clients, placed.group_of

    def _place(self, clients: Ids, state: FlexcflState, drawn: Ids) -> Conversation[Found]:
        if not len(clients):
            return clients, clients
        if self.placement == "random":
            return (yield from self._assign(clients, drawn))
        local = self.options.pretraining(self.local)
        placed = yield from ask(Place(clients, state.origin, state.directions, local))
        return placed.clients, placed.group_of

    def _assign(self, clients: Ids, drawn: Ids) -> Conversation[Found]:
        if self.migrates:  # a client that does not hear of it could not detect drift later
            clients = yield from settled(clients)
        return clients, drawn[clients]


def memory(options: FlexcflOptions, clients: int, parameters: int) -> int:
    """Return the bytes of the founders' updates, which are clustered together.

    >>> memory(FlexcflOptions(groups=3), clients=1000, parameters=7850)
    1884000
    """
    groups = options.most_groups if options.groups == "auto" else options.groups
    founders = min(clients, options.alpha * groups)
    return founders * parameters * FLOAT32_BYTES


def _joined(state: FlexcflState, found: Found) -> FlexcflState:
    clients, groups = found
    if not len(clients):
        return state
    group_of, still = state.group_of.copy(), state.drifted.copy()
    group_of[clients], still[clients] = groups, False
    return replace(state, group_of=group_of, drifted=still)


def _without(group_of: Ids, clients: Ids) -> Ids:
    left = group_of.copy()
    left[clients] = NO_GROUP
    return left
