"""The answers of several nodes as one reply.

Nodes may send anything: what is not theirs to say is marked, and the guards turn it away. They
put the answers in the order in which clients were asked, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexcfl.flower.records import Returned
from flexcfl.flower.wire import Share
from flexcfl.protocol import Ids, Order, Received

__all__ = ["Part", "merged", "part"]

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Part:
    """What one node answered; ``rounds`` are those to whose orders the rows answer."""

    columns: Mapping[str, Any]
    rounds: Ids
    late: int


def part(share: Share, returned: Returned, number: int) -> Part:
    """Return the answer to a share of an order of round ``number``."""
    columns, sent = dict(returned.columns), returned.rounds
    clients = _integers(columns["clients"])
    columns["clients"] = np.where(np.isin(clients, share.order.clients), clients, NOBODY)
    if share.used is not None and "model_of" in columns:
        columns["model_of"] = _looked_up(share.used, _integers(columns["model_of"]))
    if "updates" in columns:
        columns["updates"] = _single(columns["updates"])
    rounds = np.full(len(clients), number) if sent is None else _integers(sent)
    return Part(columns, rounds, returned.late)


def merged(order: Order[Any], parts: Sequence[Part]) -> Received:
    """Return what came in for an order, one node after the other."""
    reply = order.empty()
    columns = {
        name: _together([none, *(each.columns[name] for each in parts)])
        for name, none in vars(reply).items()
    }
    rounds = np.concatenate([reply.clients, *(each.rounds for each in parts)])
    return Received(type(reply)(**columns), rounds, sum(each.late for each in parts))


def _together(columns: Sequence[Any]) -> Any:
    """Return all columns as one array, or as a list where they are not alike."""
    filled = [column for column in columns if len(column)] or columns[:1]
    alike = {
        (each.dtype, each.shape[1:]) if isinstance(each, np.ndarray) else None for each in filled
    }
    if len(alike) == 1 and None not in alike:
        return np.concatenate(filled)
    return [row for column in filled for row in column]


def _integers(column: Any) -> Ids:
    """Return a column as whole numbers, ``NOBODY`` where it has something else."""
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype == np.int64:
        return column
    return np.full(len(column), NOBODY, dtype=np.int64)


def _looked_up(values: Ids, rows: Ids) -> Ids:
    """Return values by their rows, ``NOBODY`` where there is none."""
    known = (rows >= 0) & (rows < len(values))
    return np.append(values, NOBODY)[np.where(known, rows, -1)]


def _single(updates: Any) -> Any:
    """Return updates that travelled with half the bytes as what they stand for."""
    if not isinstance(updates, np.ndarray):
        return [_single(each) for each in updates]
    return updates.astype(np.float32) if updates.dtype == np.float16 else updates
