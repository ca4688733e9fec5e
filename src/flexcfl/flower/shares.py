"""The shares of an order for the nodes, and one reply made of their replies.

Nodes may send anything. Entries that are not a node's to send are marked, and the guards reject
them. The guards also sort the replies in the order of the clients.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any

import numpy as np

from flexcfl.flower.messages import NodeReply
from flexcfl.protocol import Ids, Order, Received

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Share:
    """The share of an order that goes to one node, with only the models that its clients use.

    ``used`` holds the numbers of these models in the whole order. It is None if all models are
    sent, or none.
    """

    order: Any
    used: Ids | None = None


def trimmed(order: Any) -> Share:
    """Return an order with only the models that its clients use."""
    given = getattr(order, "model_of", None)
    if not isinstance(given, np.ndarray):
        return Share(order)
    used, model_of = np.unique(given, return_inverse=True)
    if len(used) == len(order.models):
        return Share(order)
    fewer = replace(order, models=order.models[used], model_of=model_of.astype(np.int64))
    return Share(fewer, used)


def down_bytes(order: Order[Any]) -> int:
    """Return the size of the arrays that go to a node, in bytes."""
    values = [getattr(order, each.name) for each in fields(order)]
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def up_bytes(order: Order[Any], answering: int, updates: str) -> int:
    """Return the size of the arrays that come back from ``answering`` clients, in bytes."""
    columns = vars(order.empty())
    if order.brings_updates:
        columns = {**columns, "updates": columns["updates"].astype(updates)}
    return answering * int(sum(each.itemsize * prod(each.shape[1:]) for each in columns.values()))


def translated(share: Share, reply: NodeReply, number: int) -> NodeReply:
    """Return a reply to a share of round ``number``, with the numbers of the whole order."""
    columns = dict(reply.columns)
    clients = _integers(columns["clients"])
    columns["clients"] = np.where(np.isin(clients, share.order.clients), clients, NOBODY)
    if share.used is not None and "model_of" in columns:
        columns["model_of"] = _look_up(share.used, _integers(columns["model_of"]))
    if "updates" in columns:
        columns["updates"] = _as_float32(columns["updates"])
    sent = reply.rounds
    rounds = np.full(len(clients), number) if sent is None else _integers(sent)
    return NodeReply(columns, rounds, reply.late)


def merged_replies(order: Order[Any], replies: Sequence[NodeReply]) -> Received:
    """Concatenate the translated replies to an order, node after node."""
    reply = order.empty()
    columns = {
        name: _concatenate([empty, *(each.columns[name] for each in replies)])
        for name, empty in vars(reply).items()
    }
    rounds = np.concatenate([reply.clients, *(each.rounds for each in replies)])
    return Received(type(reply)(**columns), rounds, sum(each.late for each in replies))


def _concatenate(columns: Sequence[Any]) -> Any:
    """Return all columns as one array, or as a list if their types or shapes differ."""
    filled = [column for column in columns if len(column)] or columns[:1]
    alike = {
        (each.dtype, each.shape[1:]) if isinstance(each, np.ndarray) else None for each in filled
    }
    if len(alike) == 1 and None not in alike:
        return np.concatenate(filled)
    return [row for column in filled for row in column]


def _integers(column: Any) -> Ids:
    """Return a column of whole numbers, or all ``NOBODY`` if it holds anything else."""
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype == np.int64:
        return column
    return np.full(len(column), NOBODY, dtype=np.int64)


def _look_up(values: Ids, rows: Ids) -> Ids:
    """Return the value of each row, or ``NOBODY`` if there is none."""
    known = (rows >= 0) & (rows < len(values))
    return np.append(values, NOBODY)[np.where(known, rows, -1)]


def _as_float32(updates: Any) -> Any:
    """Return updates that were sent as float16 in float32, with which the server computes."""
    if not isinstance(updates, np.ndarray):
        return [_as_float32(each) for each in updates]
    return updates.astype(np.float32) if updates.dtype == np.float16 else updates
