"""FL+HC: FedAvg for some rounds, then one hierarchical clustering of all clients' updates.

Briggs, Fan, Andras: Federated learning with hierarchical clustering of local updates to improve
training on non-IID data. IJCNN 2020 (arXiv 2004.11791).
"""

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.aggregation import MEAN, Rule, group_steps, stepped
from flexcfl.algorithms.options import FORBID, Count, Groups, WithOptions
from flexcfl.clustering import edc, gram, silhouette, within
from flexcfl.clustering.agglomeration import (
    Linkage,
    Metric,
    agglomerated,
    nearest_direction,
    pairwise_distances,
)
from flexcfl.errors import SettingsError
from flexcfl.protocol import (
    FLOAT32_BYTES,
    Clustering,
    Conversation,
    Flags,
    Ids,
    Initial,
    Local,
    Serving,
    Train,
    Trained,
    Vectors,
    ask,
)

Distance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@settings(frozen=True, config=FORBID)
class FlhcOptions:
    """The options of FL+HC.

    After ``rounds_before`` rounds all clients present, or a random ``sample``, train in one round
    and are clustered by agglomeration, with ``metric`` between clients and ``linkage`` between
    clusters, until there are ``groups`` clusters. With a ``threshold``, merging stops when all
    clusters are further apart than it. The paper's defaults are 10 rounds and Manhattan distances;
    the number of groups is that of FlexCFL's experiments, which use one number for all methods.
    """

    rounds_before: Annotated[int, Field(ge=0, le=10**9)] = 10
    groups: Groups = 5
    threshold: Distance | None = None
    metric: Metric = "manhattan"
    linkage: Linkage = "complete"
    sample: Count | None = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if self.linkage == "ward" and self.metric != "euclidean":
            raise ValueError(
                f"linkage 'ward' needs the metric 'euclidean', not '{self.metric}': change one."
            )
        if self.sample is not None and self.sample < self.least:
            raise ValueError(
                f"sample must be at least {self.least} to make the clusters, not {self.sample}."
            )

    @property
    def least(self) -> int:
        """The smallest number of clients that can be clustered."""
        return self.groups if self.threshold is None else 2


@dataclass(frozen=True, eq=False)
class FlhcState:
    """The models of the clusters, then the global model, and the model that each client uses.

    Before clustering there is only the global model. After it, the global model does not change and
    serves clients that have no cluster yet. ``directions`` are the mean updates that started the
    clusters.
    """

    models: Vectors
    directions: Vectors
    model_of: Ids
    rounds: int = 0
    clustering: Clustering | None = None

    @property
    def groups(self) -> int:
        """The number of clusters, 0 before clustering; also the row of the global model."""
        return len(self.directions)


@dataclass(frozen=True, init=False)
class FLHC(WithOptions):
    r"""FedAvg, one clustering of all updates to the global model, then FedAvg in each cluster.

    After :math:`n_1` rounds every client :math:`i` trains from the global model :math:`w`. The
    updates :math:`\Delta_i` are clustered by agglomeration: each starts as its own cluster
    :math:`C`, and the two nearest clusters are merged repeatedly. Each cluster starts with
    :math:`w + \sum_{i \in C} \frac{n_i}{n_C} \Delta_i` and trains independently.

    If too few clients answer to form the clusters, their updates make one more round of FedAvg, and
    clustering is tried again in the next round. Clients that were absent train from :math:`w` at
    their next contact, join the cluster whose mean update is nearest to theirs, and train in the
    same round. A client that does not answer in between waits for its next contact.
    """

    local: Local
    options: FlhcOptions = field(default_factory=FlhcOptions)
    rule: Rule = MEAN

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[FlhcState]:
        """Start with one random model for all clients."""
        yield from ()  # no client is needed
        groups, clients = self.options.groups, len(present)
        if self.options.threshold is None and groups > clients:
            raise SettingsError(
                f"{groups} groups need at least as many clients, and there are {clients}: "
                "lower the number of groups (--groups)."
            )
        models = initial(rng)[np.newaxis]
        return FlhcState(models, models[:0], np.zeros(clients, dtype=np.int64))

    def round(
        self, state: FlhcState, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[FlhcState]:
        """Train the cohort, or in the clustering round all clients, and cluster them."""
        clustering = state.groups == 0 and state.rounds >= self.options.rounds_before
        clients = self._sampled(present, rng) if clustering else cohort
        if state.groups:
            state = yield from self._place(state, cohort)
            clients = cohort[state.model_of[cohort] != state.groups]
        start = state.model_of[clients]
        order = Train(clients, state.models, start, self.local, founding=clustering)
        trained = yield from ask(order)
        state = replace(state, rounds=state.rounds + 1)
        if clustering and len(trained.clients) >= self.options.least:
            return self._clustered(state, trained, rng)
        return replace(state, models=stepped(state.models, trained, self.rule, rng))

    def serving(self, state: FlhcState) -> Serving:
        """Serve each client its cluster's model, or the global model if it has no cluster yet."""
        waiting = (state.groups,) if state.groups else ()
        return Serving(state.models, state.model_of, clustering=state.clustering, waiting=waiting)

    def newcomer(self, state: FlhcState) -> FlhcState:
        """Return the state for a federation of one new client, served by the global model."""
        return replace(state, model_of=np.array([state.groups]), clustering=None)

    def _sampled(self, present: Flags, rng: np.random.Generator) -> Ids:
        everybody = np.flatnonzero(present)
        if self.options.sample is None or self.options.sample >= len(everybody):
            return everybody
        return np.sort(rng.choice(everybody, self.options.sample, replace=False))

    def _place(self, state: FlhcState, cohort: Ids) -> Conversation[FlhcState]:
        waiting = cohort[state.model_of[cohort] == state.groups]
        if not len(waiting):
            return state
        order = Train(waiting, state.models, state.model_of[waiting], self.local, "placement")
        trained = yield from ask(order)
        model_of = state.model_of.copy()
        metric = self.options.metric
        model_of[trained.clients] = nearest_direction(trained.updates, state.directions, metric)
        return replace(state, model_of=model_of)

    def _clustered(self, state: FlhcState, trained: Trained, rng: np.random.Generator) -> FlhcState:
        products = gram(trained.updates)
        options = self.options
        apart = pairwise_distances(trained.updates, products, options.metric)
        group_of = agglomerated(apart, options.linkage, options.groups, options.threshold)
        groups = int(group_of.max()) + 1
        directions = group_steps(
            self.rule, trained.updates, group_of, groups, trained.examples, rng
        )
        model_of = np.full_like(state.model_of, groups)
        model_of[trained.clients] = group_of
        points = edc(products, groups)
        return replace(
            state,
            models=np.concatenate([state.models + directions, state.models]),
            directions=directions,
            model_of=model_of,
            clustering=Clustering(
                trained.clients,
                group_of,
                groups,
                points,
                within(points, group_of),
                silhouette(apart, group_of),
            ),
        )


def memory(options: FlhcOptions, clients: int, parameters: int) -> int:
    """Return the bytes of the updates that are clustered: of all clients or of the sample.

    >>> memory(FlhcOptions(), clients=1000, parameters=7850)
    31400000
    """
    together = clients if options.sample is None else min(options.sample, clients)
    return together * parameters * FLOAT32_BYTES
