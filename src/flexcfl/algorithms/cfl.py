"""CFL: divides a cluster in two when its model is stationary but its clients' updates are not.

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

LEAF = -1  # the first child of a node that has not been divided

Norm = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@settings(frozen=True, config=FORBID)
class CflOptions:
    """The options of CFL.

    A cluster is divided when the norm of its mean update is below ``eps1`` and its largest update
    norm is above ``eps2``, if at least ``least`` of its clients answered and ``rounds_before``
    rounds have passed. ``gamma`` is a minimum distance between the two parts (the paper's bound on
    the clients' estimation error; 0 disables it, as in the notebook). ``participation`` is the
    round's ``cohort``, or ``full``: all clients present train in every round.
    """

    eps1: Norm = 0.4
    eps2: Norm = 1.6
    gamma: Annotated[float, Field(ge=0, le=1)] = 0.0
    least: Annotated[int, Field(ge=2, le=10**9)] = 3
    rounds_before: Annotated[int, Field(ge=0, le=10**9)] = 20
    participation: Literal["cohort", "full"] = "cohort"


@dataclass(frozen=True, eq=False)
class CflState:
    """A binary tree of clusters, and the node of each client.

    All clients start at node 0, the root. Nodes keep their numbers. The children of a divided node
    are ``first_child[node]`` and the next number; other nodes have ``LEAF`` there. A divided node
    keeps the model from which its participants trained when it was divided. This model serves
    clients that were absent. ``directions[node - 1]`` is the mean update that started a child.
    """

    models: Vectors
    first_child: Ids
    directions: Vectors
    node_of: Ids
    rounds: int = 0

    def __post_init__(self) -> None:
        divided = self.first_child != LEAF
        if (divided & (self.first_child <= np.arange(len(self.first_child)))).any():
            raise ValueError("the tree of clusters has a cycle")  # clients would follow it forever


@dataclass(frozen=True, eq=False)
class Division:
    """A node to divide: the rows of its participants, and which of them go to the second child."""

    node: int
    rows: Ids
    second: Flags


@dataclass(frozen=True, init=False)
class CFL(WithOptions):
    r"""FedAvg inside clusters that are divided in two, repeatedly, when their clients disagree.

    At a stationary point of a cluster's common objective the weighted mean update vanishes,
    :math:`\lVert \sum_i \frac{n_i}{n} \Delta_i \rVert < \varepsilon_1`. If single updates do not,
    :math:`\max_i \lVert \Delta_i \rVert > \varepsilon_2`, the clients want different models. They
    are divided so that the largest cosine between the parts,
    :math:`\alpha = \max_{i \in A, j \in B} \cos(\Delta_i, \Delta_j)`, is as small as possible,
    provided that :math:`\sqrt{(1 - \alpha) / 2} \ge \gamma`. Each part starts with the cluster's
    model plus its own mean update.

    Only clients that took part in the round are divided. The others follow at their next contact:
    they train from the divided model, move to the child whose first mean update is nearer by
    cosine, and so on down to a leaf, where they train in the same round. A client that does not
    answer on the way stays at the node that it has reached, and that node's model serves it.
    """

    local: Local
    options: CflOptions = field(default_factory=CflOptions)
    rule: Rule = MEAN

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[CflState]:
        """Start with one random model and all clients at the root, including newcomers."""
        yield from ()  # no client is needed
        models = initial(rng)[np.newaxis]
        root = np.zeros(len(present), dtype=np.int64)
        return CflState(models, np.array([LEAF]), models[:0], root)

    def round(
        self, state: CflState, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[CflState]:
        """Let absent clients follow, train inside the leaves, and divide clusters that disagree."""
        clients = np.flatnonzero(present) if self.options.participation == "full" else cohort
        state = yield from self._follow(state, clients)
        ready = clients[_at_leaf(state, clients)]
        trained = yield from ask(Train(ready, state.models, state.node_of[ready], self.local))
        divisions = self._divisions(state, trained, rng)
        return self._stepped(state, trained, divisions, rng)

    def serving(self, state: CflState) -> Serving:
        """Serve each client the model of its node, even if that node is divided."""
        divided = np.flatnonzero(state.first_child != LEAF)
        return Serving(state.models, state.node_of, waiting=tuple(divided.tolist()))

    def newcomer(self, state: CflState) -> CflState:
        """Return the state for a federation of one new client, which is at the root."""
        return replace(state, node_of=np.array([0]))

    def _follow(self, state: CflState, clients: Ids) -> Conversation[CflState]:
        """Let clients at divided nodes move down to a leaf, with one order for each level."""
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
        # Always the plain mean: this asks whether the cluster as a whole is stationary.
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
        """Return the state after the round, with stepped leaves and children of divided nodes."""
        nodes, node_of, arrived = len(state.models), state.node_of.copy(), trained.model_of.copy()
        first_child = np.append(state.first_child, np.full(2 * len(divisions), LEAF))
        for number, each in enumerate(divisions):
            first_child[each.node] = nodes + 2 * number
            arrived[each.rows] = first_child[each.node] + each.second
        node_of[trained.clients] = arrived
        # A divided node has no participants left, so its model does not step.
        steps = group_steps(
            self.rule, trained.updates, arrived, len(first_child), trained.examples, rng
        )
        parents = np.repeat([each.node for each in divisions], 2).astype(np.int64)
        models = np.concatenate([state.models, state.models[parents]]) + steps
        directions = np.concatenate([state.directions, steps[nodes:]])
        return CflState(models, first_child, directions, node_of, state.rounds + 1)


def memory(options: CflOptions, clients: int, parameters: int) -> int:
    """Return the bytes of all clients' updates if all clients train in every round.

    >>> memory(CflOptions(participation="full"), clients=1000, parameters=7850)
    31400000
    """
    everybody = clients if options.participation == "full" else 0
    return everybody * parameters * FLOAT32_BYTES


def _at_leaf(state: CflState, clients: Ids) -> Flags:
    return np.asarray(state.first_child[state.node_of[clients]] == LEAF)


def _children(state: CflState, trained: Trained) -> Ids:
    """Return the child to which each client moves from the node of its model."""
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
