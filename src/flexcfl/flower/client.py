"""The ``ClientApp``: a node answers messages with the same code as the simulator."""

from collections.abc import Callable, Mapping
from functools import partial
from logging import ERROR, WARNING
from typing import Any

import numpy as np
from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.logger import log

from flexcfl.errors import FlexcflError
from flexcfl.flower.memory import NodeMemory
from flexcfl.flower.messages import (
    HELLO,
    MESSAGES,
    MalformedError,
    OrderHeading,
    node_info_record,
    read_order,
    refusal_record,
    reply_record,
)
from flexcfl.flower.node_clients import NodeClients, NodeSettings, clients_of
from flexcfl.flower.order_checks import check_heading, check_order, check_width
from flexcfl.protocol import Order
from flexcfl.runner.hosting import simulation
from flexcfl.simulation import Simulation

app = ClientApp()


def _answer(message: Message, context: Context) -> Message:
    """Answer a message; an error goes to the node's log and to the server."""
    try:
        content = answer(message.content, context.node_config, partial(log, WARNING, "%s"))
    except (FlexcflError, MalformedError) as error:
        log(ERROR, "%s", error)
        content = refusal_record(str(error))
    return Message(content, reply_to=message)


for _type in (HELLO, *MESSAGES.values()):
    _category, _, _action = _type.partition(".")
    getattr(app, _category)(_action or "default")(_answer)


def answer(
    content: RecordDict, config: Mapping[str, Any], remark: Callable[[str], None]
) -> RecordDict:
    """Return a node's answer to a message.

    Args:
        content: The records of the message.
        config: The node's configuration, as ``flower-supernode --node-config`` sets it.
        remark: Called with each sentence that the owner of the node should read.

    Raises:
        FlexcflError: If the node cannot take part.
        MalformedError: If the message breaks the protocol.

    """
    heading, order = read_order(content)
    check_heading(heading)
    clients = clients_of(heading, NodeSettings.of(config))
    total = clients.prepared.federation.clients
    memory = NodeMemory(clients.memory, heading, total, remark)
    if order is None:
        memory.check()  # now, because an error at the end of a round would cost the round
        return node_info_record(clients.info)
    check_order(order, clients.numbers)
    if order.computes:
        check_width(order, clients.prepared.engine.parameters)
    with memory.locked():
        reply = _carry_out(order, heading, clients, memory)
    return reply_record(reply, heading.updates)


def _carry_out(
    order: Order[Any], heading: OrderHeading, clients: NodeClients, memory: NodeMemory
) -> Any:
    # Only the server checks for divergence, because it sees all clients.
    world = simulation(clients.prepared, clients.secret, computes=order.computes)
    recalled = memory.load()
    if recalled is not None:
        world.recall(recalled)
    if order.computes:
        for kept in world.keepsakes.sent:  # they may be for another model
            check_width(kept, clients.prepared.engine.parameters)
    executor = world.at(heading.round)
    if clients.own:
        _protect_own_data(world, clients, memory)
    reply = executor(order)
    if not order.measures:  # a measurement changes nothing
        memory.save(world.memory())
    return reply


def _protect_own_data(world: Simulation, clients: NodeClients, memory: NodeMemory) -> None:
    """Look at the clients' own data again, and count every update that they ever released."""
    if world.watch is not None:
        world.watch.stir(clients.numbers)  # their files may have changed
    if world.privacy_guard is not None and memory.released is not None:
        world.privacy_guard.recall(np.maximum(world.privacy_guard.memory(), memory.released))
