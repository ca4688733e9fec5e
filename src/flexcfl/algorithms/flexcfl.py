"""FlexCFL: groups founded once by clustering updates; newcomers join the group they align with.

Duan, Liu, Ji, Wu, Liang, Chen, Tan: Flexible Clustered Federated Learning for Client-Level Data
Distribution Shift. IEEE TPDS 2022, Algorithms 2 and 3, Equations 6 to 8.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.aggregation import Sharing, group_means, shared
from flexcfl.algorithms.cold_start import Founded, clustered, each_its_own, pretrained
from flexcfl.algorithms.options import FORBID, Count, Groups
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
    Place,
    Serving,
    Train,
    Vector,
    Vectors,
    ask,
)

__all__ = ["FlexCFL", "FlexcflOptions", "FlexcflState", "GroupOptions", "RccOptions", "memory"]

Rate = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


@settings(frozen=True, config=FORBID)
class GroupOptions:
    """How clients pre-train to find their group, and how groups begin and share.

    ``pretraining_steps`` is a number of mini-batches; ``pretraining_epochs``, where given, takes
    its place. ``first_model`` is where a group begins: at the mean of its founders' ``pretrained``
    models, or at the ``origin``. ``eta_g`` is the rate of inter-group aggregation; ``sharing`` is
    ``convex``, a weighted mean of models, or ``additive``, the paper's sum.
    """

    pretraining_steps: Count = 50
    pretraining_epochs: Count | None = None
    first_model: Literal["pretrained", "origin"] = "pretrained"
    eta_g: Rate = 0.0
    sharing: Sharing = "convex"

    def pretraining(self, local: Local) -> Local:
        """Return how clients pre-train, where they otherwise train as ``local`` says.

        The proximal term is for training inside groups: here clients are to show where they go.
        """
        if self.pretraining_epochs is not None:
            return replace(local, epochs=self.pretraining_epochs, steps=None, prox=0.0)
        return replace(local, steps=self.pretraining_steps, prox=0.0)


@settings(frozen=True, config=FORBID)
class RccOptions(GroupOptions):
    """The options of FlexCFL with random cluster centres: ``groups`` is their number."""

    groups: Groups = 5


@settings(frozen=True, config=FORBID)
class FlexcflOptions(GroupOptions):
    """The options of FlexCFL.

    ``groups`` is their number, or ``auto`` to choose it, up to ``most_groups``, from the founders'
    own structure. There are ``alpha`` founders for each group (with ``auto`` for each of
    ``most_groups``), at most all clients. ``measure`` is how their updates are compared: ``edc``
    (Equation 7, then K-means++) or ``madc`` (Equation 6, then complete linkage).
    """

    groups: Groups | Literal["auto"] = 5
    alpha: Count = 20
    measure: Literal["edc", "madc"] = "edc"
    most_groups: Groups = 10


@dataclass(frozen=True, eq=False)
class FlexcflState:
    """The groups' models and directions, the common origin, and every client's group."""

    models: Vectors
    group_of: Ids
    origin: Vector
    directions: Vectors
    clustering: Clustering | None


@dataclass(frozen=True)
class FlexCFL:
    r"""Clustered training over groups that clients find from one common origin :math:`w_0`.

    At the start :math:`\alpha m` founders pre-train from :math:`w_0` and are clustered by their
    updates. The mean update of a group's founders is its direction; a client without a group
    pre-trains from :math:`w_0` too and joins the group whose direction has the largest cosine to
    its update (Equation 8). Inside a group there is FedAvg, between them
    ``flexcfl.aggregation.shared``. A group none of whose clients was selected keeps its model.

    The paper's ablations (Section 5.2) are fields: with ``RccOptions`` the centres are random
    clients and not clusters of founders, and ``newcomers`` may be placed at random.
    """

    local: Local
    options: FlexcflOptions | RccOptions = field(default_factory=FlexcflOptions)
    newcomers: Literal["aligned", "random"] = "aligned"

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[FlexcflState]:
        """Found the groups (Algorithm 3), and give their founders what migration needs."""
        origin = initial(rng)
        founded = yield from self._found(origin, present, rng)
        founders = np.flatnonzero(founded.group_of != NO_GROUP)
        yield from ask(Keep(founders, origin, founded.directions))
        ahead = founded.directions if self.options.first_model == "pretrained" else 0
        models = np.tile(origin, (len(founded.directions), 1)) + ahead
        return FlexcflState(
            models, founded.group_of, origin, founded.directions, founded.clustering
        )

    def round(
        self, state: FlexcflState, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[FlexcflState]:
        """Place the cohort's newcomers, train inside the groups, then share between them."""
        state = yield from self._place(state, cohort[state.group_of[cohort] == NO_GROUP], rng)
        members = cohort[state.group_of[cohort] != NO_GROUP]
        order = Train(members, state.models, state.group_of[members], self.local)
        trained = yield from ask(order)
        if not len(trained.clients):
            return state
        step = group_means(trained.updates, trained.model_of, len(state.models), trained.examples)
        options = self.options
        return replace(state, models=shared(state.models + step, options.eta_g, options.sharing))

    def serving(self, state: FlexcflState) -> Serving:
        """Serve each client its group's model; the auxiliary global model is their mean."""
        auxiliary = state.models.mean(axis=0, dtype=np.float64).astype(np.float32)
        return Serving(state.models, state.group_of, auxiliary, state.clustering)

    def _found(
        self, origin: Vector, present: Flags, rng: np.random.Generator
    ) -> Conversation[Founded]:
        options, local = self.options, self.options.pretraining(self.local)
        if isinstance(options, RccOptions):
            centres = options.groups
            founders = yield from pretrained(origin, centres, centres, present, local, rng)
            return each_its_own(founders, len(present))
        groups, most_groups = options.groups, options.most_groups
        number = options.alpha * (most_groups if groups == "auto" else groups)
        self._check_newcomers(number, present)
        least = 1 if groups == "auto" else groups
        founders = yield from pretrained(origin, number, least, present, local, rng)
        return clustered(founders, groups, most_groups, options.measure, len(present), rng)

    def _check_newcomers(self, founders: int, present: Flags) -> None:
        if self.newcomers == "random" and min(founders, present.sum()) == len(present):
            raise SettingsError(
                f"All {len(present)} clients would be founders and nobody is left to be placed at "
                "random: lower the founders per group (--set algorithm.alpha=N) or the groups."
            )

    def _place(
        self, state: FlexcflState, newcomers: Ids, rng: np.random.Generator
    ) -> Conversation[FlexcflState]:
        if not len(newcomers):
            return state
        if self.newcomers == "random":
            # Drawn for all clients, so that a client's group does not depend on who else is new.
            drawn = rng.integers(len(state.models), size=len(state.group_of))
            return _joined(state, newcomers, drawn[newcomers])
        local = self.options.pretraining(self.local)
        placed = yield from ask(Place(newcomers, state.origin, state.directions, local))
        return _joined(state, placed.clients, placed.group_of)


def memory(options: FlexcflOptions, clients: int, parameters: int) -> int:
    """Return the bytes of the founders' updates, which are clustered together.

    >>> memory(FlexcflOptions(groups=3), clients=1000, parameters=7850)
    1884000
    """
    groups = options.most_groups if options.groups == "auto" else options.groups
    founders = min(clients, options.alpha * groups)
    return founders * parameters * FLOAT32_BYTES


def _joined(state: FlexcflState, clients: Ids, groups: Ids) -> FlexcflState:
    group_of = state.group_of.copy()
    group_of[clients] = groups
    return replace(state, group_of=group_of)
