"""Group cold start: founders pre-train from a common origin, and their updates form the groups.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Algorithm 3; and its ablation with random cluster centres (Section 5.2).
"""

from dataclasses import dataclass

import numpy as np

from flexcfl.aggregation import Rule, group_steps
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.protocol import (
    NO_GROUP,
    Clustering,
    Conversation,
    Flags,
    Ids,
    Local,
    Train,
    Vector,
    Vectors,
    ask,
)


@dataclass(frozen=True, eq=False)
class Founders:
    """Clients that pre-trained from the origin, in ascending order, with their updates."""

    clients: Ids
    updates: Vectors


@dataclass(frozen=True, eq=False)
class Founded:
    """New groups: the direction of each, and each client's group after founders are placed."""

    directions: Vectors
    group_of: Ids
    clustering: Clustering | None


def clustered(
    founders: Founders, found: Clustering, clients: int, rule: Rule, rng: np.random.Generator
) -> Founded:
    """Start the groups that clustering found; ``rule`` computes the direction of each."""
    alike = np.ones(len(founders.clients))
    directions = group_steps(rule, founders.updates, found.group_of, found.groups, alike, rng)
    return Founded(directions, _placed(clients, found.clients, found.group_of), found)


def each_its_own(founders: Founders, clients: int, rule: Rule, rng: np.random.Generator) -> Founded:
    """Start a group for each founder; ``rule`` computes its direction from its update."""
    number = len(founders.clients)
    groups, alike = np.arange(number), np.ones(number)
    directions = group_steps(rule, founders.updates, groups, number, alike, rng)
    return Founded(directions, _placed(clients, founders.clients, groups), None)


def _placed(clients: int, founders: Ids, groups: Ids) -> Ids:
    group_of = np.full(clients, NO_GROUP, dtype=np.int64)
    group_of[founders] = groups
    return group_of


def pretrained(
    origin: Vector, number: int, least: int, present: Flags, local: Local, rng: np.random.Generator
) -> Conversation[Founders]:
    """Let ``number`` random clients pre-train from the origin.

    A client that does not answer, or whose update is zero and so has no direction, is replaced by
    another while there are any. Fewer than ``least`` founders are an error.
    """
    queue = rng.permutation(np.flatnonzero(present))
    if len(queue) < least:
        raise SettingsError(
            f"{least} groups need at least as many clients at the start, and there are "
            f"{len(queue)}: lower the number of groups (--groups)."
        )
    found: list[Founders] = []
    while (missing := number - sum(len(each.clients) for each in found)) > 0 and len(queue):
        asked, queue = np.sort(queue[:missing]), queue[missing:]
        start = np.zeros(len(asked), dtype=np.int64)
        order = Train(asked, origin[np.newaxis], start, local, "cold-start", founding=True)
        reply = yield from ask(order)
        found.append(_with_direction(Founders(reply.clients, reply.updates)))
    founders = _together(found)
    if len(founders.clients) < least:
        raise TrainingError(
            f"Only {len(founders.clients)} of all clients at the start answered with an update "
            f"that can be used, too few to found {least} groups: lower the number of groups "
            "(--groups), wait for more clients, or look at [faults] and [guards]."
        )
    return founders


def _with_direction(founders: Founders) -> Founders:
    moved = founders.updates.any(axis=1)
    if moved.all():
        return founders  # without a copy, which could be large
    return Founders(founders.clients[moved], founders.updates[moved])


def _together(found: list[Founders]) -> Founders:
    if len(found) == 1:
        return found[0]
    clients = np.concatenate([each.clients for each in found])
    order = np.argsort(clients)
    return Founders(clients[order], np.concatenate([each.updates for each in found])[order])
