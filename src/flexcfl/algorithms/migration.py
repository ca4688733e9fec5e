"""Migration: finds the clients that must be placed again because their data have changed.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Algorithm 2, lines 4 to 6.
"""

import numpy as np

from flexcfl.protocol import (
    NO_GROUP,
    CheckDrift,
    Conversation,
    Flags,
    Ids,
    Settle,
    ask,
)


def verdicts(standing: Flags, group_of: Ids, present: Flags) -> Conversation[Flags]:
    """Ask all clients that are present and have a group, and return which have drifted.

    ``standing`` are earlier verdicts; each holds until its client has been placed again.
    """
    placed = np.flatnonzero(present & (group_of != NO_GROUP))
    flags = standing.copy()
    if len(placed):
        checked = yield from ask(CheckDrift(placed))
        flags[checked.clients] |= checked.drifted
    return flags


def settled(clients: Ids) -> Conversation[Ids]:
    """Tell clients that the server has placed them, and return those that answered."""
    if not len(clients):
        return clients
    kept = yield from ask(Settle(clients))
    return kept.clients
