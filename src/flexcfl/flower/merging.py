"""The answers of several nodes as one reply, in the order in which clients were asked.

Nodes may send anything: what is not theirs to say is marked, and the guards turn it away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.flower.records import REPLIES, MalformedError, Returned
from flexcfl.flower.wire import Share
from flexcfl.guards.sense import MOST_EXAMPLES
from flexcfl.protocol import Evaluate, Ids, Order, Received

__all__ = ["Part", "merged", "part"]

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Part:
    """What one node answered; ``places`` say where in the whole order its rows were asked.

    ``rounds`` are those to whose orders the rows answer.
    """

    columns: Mapping[str, Any]
    places: Ids
    rounds: Ids
    late: int


def part(share: Share, places: Ids, returned: Returned, number: int) -> Part:
    """Return the answer to a share, whose clients stand at ``places`` of a whole order.

    The order is of round ``number``.
    """
    columns, asked = dict(returned.columns), share.order.clients
    clients = _integers(columns["clients"])
    if isinstance(share.order, Evaluate):
        mine = np.isin(asked, clients)
        _check_measured(asked[mine], clients, columns)
        return Part(columns, places[mine], np.full(len(clients), number), 0)
    row_of = {client: row for row, client in enumerate(asked.tolist())}
    rows = np.array([row_of.get(client, NOBODY) for client in clients.tolist()], dtype=np.int64)
    columns["clients"] = np.where(rows == NOBODY, NOBODY, clients)
    if share.used is not None and "model_of" in columns:
        columns["model_of"] = _looked_up(share.used, _integers(columns["model_of"]))
    if "updates" in columns:
        columns["updates"] = _single(columns["updates"])
    sent = returned.rounds
    rounds = np.full(len(rows), number) if sent is None else _integers(sent)
    return Part(columns, _looked_up(places, rows), rounds, returned.late)


def merged(order: Order[Any], parts: Sequence[Part]) -> Received:
    """Return what came in for an order, from whatever nodes."""
    nobody = np.empty(0, dtype=np.int64)
    # Who was not asked stands first, which is as good as any place.
    rows = np.argsort(np.concatenate([nobody, *(each.places for each in parts)]), kind="stable")
    reply = REPLIES[type(order)]
    columns = {
        each.name: _together(
            [_none(order, each.name), *(own.columns[each.name] for own in parts)], rows
        )
        for each in fields(reply)
    }
    rounds = np.concatenate([nobody, *(each.rounds for each in parts)])[rows]
    return Received(reply(**columns), rounds, sum(each.late for each in parts))


def _together(columns: Sequence[Any], rows: Ids) -> Any:
    """Return rows of all columns as one array, or as a list where they are not alike."""
    filled = [column for column in columns if len(column)] or columns[:1]
    alike = {
        (each.dtype, each.shape[1:]) if isinstance(each, np.ndarray) else None for each in filled
    }
    if len(alike) == 1 and None not in alike:
        return np.concatenate(filled)[rows]
    loose = [row for column in filled for row in column]
    return [loose[row] for row in rows.tolist()]


def _none(order: Any, name: str) -> NDArray[Any]:
    """Return what an empty column is like."""
    if name == "updates":
        return np.empty((0, order.models.shape[1]), dtype=np.float32)
    kinds = {"loss": np.float64, "drifted": np.bool_}
    return np.empty(0, dtype=kinds.get(name, np.int64))


def _check_measured(asked: Ids, clients: Ids, columns: Mapping[str, Any]) -> None:
    """Refuse measurements that make no sense, for guards take these as they are.

    A loss may be anything but finite, where a model has diverged.
    """
    hits, examples = _integers(columns["hits"]), _integers(columns["examples"])
    loss = columns["loss"]
    real = isinstance(loss, np.ndarray) and loss.dtype == np.float64 and loss.ndim == 1
    fits = np.array_equal(asked, clients) and (hits >= 0).all() and (hits <= examples).all()
    if not (real and fits and examples.max(initial=0) <= MOST_EXAMPLES):
        raise MalformedError("it measured something else than it was asked for")


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
