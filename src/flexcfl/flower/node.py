"""A node answers a message: its clients, all that they remember, and one order."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from flwr.app import RecordDict

from flexcfl.flower.hosting import Hosted, NodeSettings, hosted
from flexcfl.flower.recollection import Recollection
from flexcfl.flower.records import (
    Heading,
    hosts_record,
    letter_in,
    reply_record,
)
from flexcfl.flower.vetting import check_heading, check_order, check_width
from flexcfl.protocol import Order
from flexcfl.runner.hosting import simulation
from flexcfl.simulation import Simulation

__all__ = ["answer"]


def answer(
    content: RecordDict, config: Mapping[str, Any], remark: Callable[[str], None]
) -> RecordDict:
    """Return what a node that is configured so answers to a message.

    ``remark`` is told what the node's owner should know.
    """
    letter = letter_in(content)
    heading, order = letter.heading, letter.order
    check_heading(heading)
    host = hosted(heading, NodeSettings.of(config))
    total = host.prepared.federation.clients
    recollection = Recollection(host.memory, heading, total, remark)
    if order is None:
        recollection.check()  # now, because it is for the end of a round that it is needed
        return hosts_record(host.hosts)
    check_order(order, host.clients)
    if order.computes:
        check_width(order, host.prepared.engine.parameters)
    with recollection.held():
        reply = _fulfilled(order, heading, host, recollection)
    return reply_record(reply, heading.updates)


def _fulfilled(
    order: Order[Any], heading: Heading, host: Hosted, recollection: Recollection
) -> Any:
    # Divergence is for the server to see, who knows of all clients.
    world = simulation(host.prepared, host.secret, computes=order.computes)
    memory = recollection.recalled()
    if memory is not None:
        world.recall(memory)
    if order.computes:
        for kept in world.keepsakes.sent:  # which may be of a server with another model
            check_width(kept, host.prepared.engine.parameters)
    executor = world.at(heading.round)
    if host.own:
        _beware(world, host, recollection)
    reply = executor(order)
    if not order.measures:  # which changes nothing
        recollection.keep(world.memory())
    return reply


def _beware(world: Simulation, host: Hosted, recollection: Recollection) -> None:
    """Let clients with data of their own look at them, and never forget what they released."""
    if world.watch is not None:
        world.watch.stir(host.clients)  # nobody says when files of one's own have changed
    released = recollection.released
    if world.privacy_guard is not None and released is not None:
        world.privacy_guard.recall(np.maximum(world.privacy_guard.memory(), released))
