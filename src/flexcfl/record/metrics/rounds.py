"""Metrics of one round: accuracy, loss, discrepancy, and how well groups match true clusters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Evaluated, Exchange, Flags, Ids, Serving, Vector


def accuracy(evaluated: Evaluated, chosen: Flags | None = None) -> float | None:
    """Return the fraction of examples that were classified correctly, or None without examples.

    ``chosen`` has a flag for each evaluated client: whether it counts.
    """
    counted = np.ones(len(evaluated.clients), dtype=np.bool_) if chosen is None else chosen
    examples = int(evaluated.examples[counted].sum())
    return int(evaluated.hits[counted].sum()) / examples if examples else None


def adjusted_rand_index(structure: Ids | None, group_of: Ids) -> float | None:
    """Return the adjusted Rand index over all clients that have a group.

    It is 1 if groups and clusters are the same up to their numbers, and about 0 if they are
    unrelated. It is None if the true clusters are unknown or no client has a group.
    """
    placed = group_of != NO_GROUP
    if structure is None or not placed.any():
        return None
    # Imported here, because scikit-learn takes seconds to import and few runs need it.
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(structure[placed], group_of[placed]))


@dataclass(frozen=True, eq=False)
class Trainees:
    """The clients that trained in a round, one entry each.

    ``group_of`` holds their groups after the round and ``losses`` the mean data losses over their
    last local epoch. ``distances`` are the distances of their own models from their group's model
    after aggregation (NaN for a client without a group).
    """

    group_of: Ids
    examples: Ids
    losses: NDArray[np.float64]
    distances: NDArray[np.float64]

    @classmethod
    def of(cls, exchanges: Sequence[Exchange], serving: Serving) -> "Trainees":
        """Collect the results of a round's training orders; ``serving`` is the state after them.

        Training that only served to find a group is left out.
        """
        replies = [reply for _, reply in _training(exchanges)]
        none = [np.empty(0, dtype=np.int64)]
        clients = np.concatenate(none + [reply.clients for reply in replies])
        return cls(
            group_of=serving.model_of[clients],
            examples=np.concatenate(none + [reply.examples for reply in replies]),
            losses=np.concatenate([np.empty(0), *(reply.loss for reply in replies)]),
            distances=np.array(list(_distances(exchanges, serving)), dtype=np.float64),
        )

    def members(self, group: int) -> "Trainees":
        """Return the trainees of one group."""
        own = self.group_of == group
        return Trainees(
            self.group_of[own], self.examples[own], self.losses[own], self.distances[own]
        )

    @property
    def loss(self) -> float | None:
        """The mean loss, weighted by examples; None if no client trained."""
        examples = int(self.examples.sum())
        return float((self.losses * self.examples).sum()) / examples if examples else None

    @property
    def discrepancy(self) -> float | None:
        """The mean distance from the groups (FlexCFL, Equation 3); None without any."""
        known = self.distances[~np.isnan(self.distances)]
        return float(known.mean()) if len(known) else None


def _training(exchanges: Sequence[Exchange]) -> Iterator[tuple[Any, Any]]:
    return (exchange for exchange in exchanges if exchange[0].purpose == "training")


def _distances(exchanges: Sequence[Exchange], serving: Serving) -> Iterator[float]:
    for order, reply in _training(exchanges):
        for client, start, update in zip(reply.clients, reply.model_of, reply.updates, strict=True):
            group = serving.model_of[client]
            yield (
                np.nan
                if group == NO_GROUP
                else _distance(order.models[start], update, serving.models[group])
            )


def _distance(start: Vector, update: Vector, group: Vector) -> float:
    # One client at a time, because a float64 copy of the whole cohort may not fit into memory.
    # NumPy's own sum, because a BLAS norm of many numbers depends on the number of threads.
    difference = start.astype(np.float64)
    difference += update
    difference -= group
    return float(np.sqrt(np.square(difference, out=difference).sum()))
