"""CFL: a cluster that has come to rest while its clients still pull apart is divided in two.

Sattler, Müller, Samek: Clustered Federated Learning: Model-Agnostic Distributed Multitask
Optimization under Privacy Constraints. IEEE TNNLS 32, 2021 (online 2020; arXiv 1910.01991). Default
options are those of the authors' notebook, https://github.com/felisat/clustered-federated-learning.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.aggregation import MEAN, Rule, group_steps, norms
from flexcfl.algorithms.options import FORBID, WithOptions
from flexcfl.clustering import best_aligned, bipartition, cosines, gram
from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import (
    FLOAT32_BYTES,
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

__all__ = ["CFL", "LEAF", "CflOptions", "CflState", "memory"]

LEAF = -1  # the first child of a node that was not divided

Norm = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@settings(frozen=True, config=FORBID)
class CflOptions:
    """The options of CFL.

    A cluster is divided when the norm of its mean update is below ``eps1`` and its largest update
    norm above ``eps2``, if at least ``least`` of its clients answered and ``rounds_before`` rounds
    have passed. ``gamma`` asks in addition that the two parts be at least so far apart
    (the paper's bound on the clients' estimation error; 0 asks nothing, as the notebook).
    ``participation`` is the round's ``cohort``, or ``full``: everybody present trains every round.
    """

    eps1: Norm = 0.4
    eps2: Norm = 1.6
    gamma: Annotated[float, Field(ge=0, le=1)] = 0.0
    least: Annotated[int, Field(ge=2, le=10**9)] = 3
    rounds_before: Annotated[int, Field(ge=0, le=10**9)] = 20
    participation: Literal["cohort", "full"] = "cohort"


@dataclass(frozen=True, eq=False)
class CflState:
    """A binary tree of clusters, and the node of every client.

    Node 0 is the root, where everybody begins; a node keeps its number. The children of a divided
    node are ``first_child[node]`` and the next number, that of any other is ``LEAF``. A divided
    node keeps the model that its participants trained from when it was divided, in the service of
    clients that were away. ``directions[node - 1]`` is the mean update by which a child began.
    """

    models: Vectors
    first_child: Ids
    directions: Vectors
    node_of: Ids
    rounds: int = 0

    def __post_init__(self) -> None:
        divided = self.first_child != LEAF
        if (divided & (self.first_child <= np.arange(len(self.first_child)))).any():
            raise ValueError("a tree of clusters leads in a circle")  # and clients would for ever


@dataclass(frozen=True, eq=False)
class Division:
    """A node to be divided: the rows of its participants, and which go to the second child."""

    node: int
    rows: Ids
    second: Flags


@dataclass(frozen=True, init=False)
class CFL(WithOptions):
    r"""FedAvg inside clusters, which are divided in two, and again, where clients disagree.

    At a stationary point of a cluster's common objective the weighted mean update vanishes,
    :math:`\lVert \sum_i \frac{n_i}{n} \Delta_i \rVert < \varepsilon_1`. If single updates do not,
    :math:`\max_i \lVert \Delta_i \rVert > \varepsilon_2`, clients want different models. They are
    divided so that the largest cosine between the parts,
    :math:`\alpha = \max_{i \in A, j \in B} \cos(\Delta_i, \Delta_j)`, is as small as can be,
    provided that :math:`\sqrt{(1 - \alpha) / 2} \ge \gamma`. Each part begins with the cluster's
    model plus its own mean update.

    Only clients that took part in the round are divided. At their next contact the others train
    from the model that was divided, go to the child whose first mean update is nearer by cosine,
    and so on down to a leaf, where they train in the same round. Who is silent on the way waits
    where it came to, and is served by that node's model.
    """

    local: Local
    options: CflOptions = field(default_factory=CflOptions)
    rule: Rule = MEAN

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[CflState]:
        """Begin with one random model and everybody, newcomers too, at the root."""
        yield from ()  # nobody need be asked
        models = initial(rng)[np.newaxis]
        root = np.zeros(len(present), dtype=np.int64)
        return CflState(models, np.array([LEAF]), models[:0], root)

    def round(
        self, state: CflState, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[CflState]:
        """Let those who were away follow, train inside the leaves, divide what is at odds."""
        clients = np.flatnonzero(present) if self.options.participation == "full" else cohort
        state = yield from self._follow(state, clients)
        ready = clients[_at_leaf(state, clients)]
        trained = yield from ask(Train(ready, state.models, state.node_of[ready], self.local))
        divisions = self._divisions(state, trained, rng)
        return self._stepped(state, trained, divisions, rng)

    def serving(self, state: CflState) -> Serving:
        """Serve each client the model of its node, those of divided nodes included."""
        divided = np.flatnonzero(state.first_child != LEAF)
        return Serving(state.models, state.node_of, waiting=tuple(divided.tolist()))

    def newcomer(self, state: CflState) -> CflState:
        """Return the state as one client alone finds it, at the root of the tree."""
        return replace(state, node_of=np.array([0]))

    def _follow(self, state: CflState, clients: Ids) -> Conversation[CflState]:
        """Let clients at divided nodes go down to a leaf, all those of one level in one order."""
        away = clients[~_at_leaf(state, clients)]
        while len(away):
            order = Train(away, state.models, state.node_of[away], self.local, "placement")
            trained = yield from ask(order)
            node_of = state.node_of.copy()
            node_of[trained.clients] = _children(state, trained)
            state = replace(state, node_of=node_of)
            away = trained.clients[~_at_leaf(state, trained.clients)]
        return state

    def _divisions(
        self, state: CflState, trained: Trained, rng: np.random.Generator
    ) -> list[Division]:
        if state.rounds < self.options.rounds_before:
            return []
        nodes, cluster_of = np.unique(trained.model_of, return_inverse=True)
        # The plain mean, whatever the rule: it asks whether all together have come to rest.
        means = group_steps(MEAN, trained.updates, cluster_of, len(nodes), trained.examples, rng)
        stationary, lengths = norms(means) < self.options.eps1, norms(trained.updates)
        clusters = [np.flatnonzero(cluster_of == cluster) for cluster in np.flatnonzero(stationary)]
        clusters = [rows for rows in clusters if self._at_odds(lengths[rows])]
        if not clusters:
            return []
        similarity = cosines(gram(trained.updates))
        divisions = [_division(trained, rows, similarity) for rows in clusters]
        return [each for each in divisions if self._apart(each, similarity)]

    def _at_odds(self, lengths: NDArray[np.float64]) -> bool:
        return len(lengths) >= self.options.least and bool(lengths.max() > self.options.eps2)

    def _apart(self, division: Division, similarity: Matrix) -> bool:
        first, second = division.rows[~division.second], division.rows[division.second]
        alpha = similarity[np.ix_(first, second)].max()
        return bool(np.sqrt((1 - alpha) / 2) >= self.options.gamma)

    def _stepped(
        self,
        state: CflState,
        trained: Trained,
        divisions: list[Division],
        rng: np.random.Generator,
    ) -> CflState:
        """Return the state after the round: leaves have stepped, divided nodes have children."""
        nodes, node_of, arrived = len(state.models), state.node_of.copy(), trained.model_of.copy()
        first_child = np.append(state.first_child, np.full(2 * len(divisions), LEAF))
        for number, each in enumerate(divisions):
            first_child[each.node] = nodes + 2 * number
            arrived[each.rows] = first_child[each.node] + each.second
        node_of[trained.clients] = arrived
        # Nobody is left at a divided node, so it does not step.
        steps = group_steps(
            self.rule, trained.updates, arrived, len(first_child), trained.examples, rng
        )
        parents = np.repeat([each.node for each in divisions], 2).astype(np.int64)
        models = np.concatenate([state.models, state.models[parents]]) + steps
        directions = np.concatenate([state.directions, steps[nodes:]])
        return CflState(models, first_child, directions, node_of, state.rounds + 1)


def memory(options: CflOptions, clients: int, parameters: int) -> int:
    """Return the bytes of all clients' updates where everybody trains in every round.

    >>> memory(CflOptions(participation="full"), clients=1000, parameters=7850)
    31400000
    """
    everybody = clients if options.participation == "full" else 0
    return everybody * parameters * FLOAT32_BYTES


def _at_leaf(state: CflState, clients: Ids) -> Flags:
    return np.asarray(state.first_child[state.node_of[clients]] == LEAF)


def _children(state: CflState, trained: Trained) -> Ids:
    """Return the child to which each client goes from the node that it trained from."""
    children = np.empty_like(trained.model_of)
    for node in np.unique(trained.model_of):
        rows = np.flatnonzero(trained.model_of == node)
        first = state.first_child[node]
        chosen = best_aligned(trained.updates[rows], state.directions[first - 1 : first + 1])
        children[rows] = first + chosen
    return children


def _division(trained: Trained, rows: Ids, similarity: Matrix) -> Division:
    second = bipartition(similarity[np.ix_(rows, rows)])
    return Division(int(trained.model_of[rows[0]]), rows, second)
