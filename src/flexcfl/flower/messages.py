"""Orders and replies as Flower records: named arrays and one line of JSON.

A message is only read as what the protocol declares: arrays without pickles, and plain values.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import prod
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.typing import NDArray

from flexcfl.protocol import (
    CheckDrift,
    Choose,
    Evaluate,
    Keep,
    Local,
    Migrate,
    Order,
    Place,
    Received,
    Settle,
    Train,
)

ABOUT, ARRAYS = "flexcfl", "arrays"

# The Flower message type of each order: a category and an action.
HELLO = "query.hello"
MESSAGES: Mapping[type[Order[Any]], str] = {
    Train: "train",
    Place: "train.place",
    Migrate: "train.migrate",
    Keep: "train.keep",
    Choose: "query.choose",
    Settle: "query.settle",
    CheckDrift: "query.drift",
    Evaluate: "evaluate",
}
KINDS = {order.kind: order for order in MESSAGES}

MOST = 10**8  # clients, classes, or numbers in an example
LONGEST = 1000  # characters of a sentence from another machine
NAME = re.compile(r"[0-9a-f]{16}")  # of a run or a session; it becomes a path, so nothing else


class MalformedError(ValueError):
    """A message breaks the protocol, or refuses to answer and says why."""


@dataclass(frozen=True)
class OrderHeading:
    """The heading of every order.

    Attributes:
        run: The name of the run. Nodes store what their clients remember under it.
        session: The name of one process of the run's server.
        round: The number of the round.
        experiment: The experiment as TOML.
        updates: The type in which updates travel.
        lineage: For each earlier session, the last round that counts. A server that resumes after
            a crash goes back to its checkpoint, and later rounds of the old session do not count.

    """

    run: str
    session: str
    round: int
    experiment: str
    updates: str = "float32"
    lineage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class NodeInfo:
    """The clients that a node hosts, the number of all clients, and the shape of their data."""

    clients: NDArray[np.int64]
    total: int
    shape: tuple[int, ...]
    classes: int


@dataclass(frozen=True, eq=False)
class NodeReply:
    """The columns of a reply as a node sent them, each with one entry per client.

    ``rounds`` holds the round whose order each row answers, or is None if all answer this one.
    """

    columns: Mapping[str, Any]
    rounds: Any
    late: int


def order_record(heading: OrderHeading, order: Order[Any] | None) -> RecordDict:
    """Return an order as records; None asks a node which clients it hosts."""
    plain: dict[str, Any] = {"heading": asdict(heading)}
    arrays: dict[str, NDArray[Any]] = {}
    if order is not None:
        plain["kind"] = order.kind
        for each in fields(order):
            value = getattr(order, each.name)
            if isinstance(value, np.ndarray):
                arrays[each.name] = value
            elif value is not None:
                plain[each.name] = asdict(value) if isinstance(value, Local) else value
    return _record(plain, arrays)


def read_order(content: RecordDict) -> tuple[OrderHeading, Order[Any] | None]:
    """Return the heading and the order of a message, without a check of their values.

    Raises:
        MalformedError: If the message holds no order.

    """
    plain, arrays = _unpack(content)
    try:
        heading, kind = OrderHeading(**plain.pop("heading")), plain.pop("kind", None)
        if kind is None:
            return heading, None
        if "local" in plain:
            plain["local"] = Local(**plain["local"])
        return heading, KINDS[kind](**plain, **arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MalformedError(f"the order is not valid ({str(error)[:LONGEST]})") from None


def node_info_record(info: NodeInfo) -> RecordDict:
    """Return the description of a node as records."""
    plain = {"total": info.total, "shape": list(info.shape), "classes": info.classes}
    return _record(plain, {"clients": info.clients})


def read_node_info(content: RecordDict) -> NodeInfo:
    """Return the description of a node, or raise ``MalformedError``."""
    plain, arrays = _unpack(content)
    clients = arrays.get("clients")
    if clients is None or clients.dtype != np.int64 or clients.ndim != 1 or not len(clients):
        raise MalformedError("it does not say which clients it hosts")
    try:
        total, classes = _whole_number(plain["total"]), _whole_number(plain["classes"])
        shape = tuple(_whole_number(each) for each in plain["shape"])
    except (KeyError, TypeError):
        raise MalformedError("it does not say what its data are like") from None
    # The server allocates this much because one node says so.
    if not (0 < total <= MOST and 0 < classes <= MOST and shape and 0 < prod(shape) <= MOST):
        raise MalformedError("it describes data that cannot exist")
    if clients.min() < 0 or clients.max() >= total:
        raise MalformedError(f"it hosts a client beyond the {total} of the federation")
    return NodeInfo(np.unique(clients), total, shape, classes)


def cast_updates(updates: Any, dtype: str) -> Any:
    """Return updates in the type in which they travel."""
    if not isinstance(updates, np.ndarray):
        return [cast_updates(each, dtype) for each in updates]
    with np.errstate(over="ignore"):  # the server rejects infinity
        return updates.astype(dtype)


def reply_record(reply: Any, updates: str) -> RecordDict:
    """Return a reply of clients, or a ``Received`` one, as records."""
    received = reply if isinstance(reply, Received) else Received(reply)
    plain: dict[str, Any] = {"late": received.late, "lists": {}}
    arrays: dict[str, NDArray[Any]] = {}
    for each in fields(received.reply):
        column = getattr(received.reply, each.name)
        if each.name == "updates":
            column = cast_updates(column, updates)
        if isinstance(column, np.ndarray):
            arrays[each.name] = column
        else:  # clients sent different things, so each has its own array
            plain["lists"][each.name] = len(column)
            arrays |= {f"{each.name}.{row}": np.asarray(own) for row, own in enumerate(column)}
    if received.rounds is not None:
        arrays["rounds"] = received.rounds
    return _record(plain, arrays)


def read_reply(order: Order[Any], content: RecordDict) -> NodeReply:
    """Return a node's reply to an order.

    Every column is present, with one entry per answer, and there are no more answers than clients
    in the order. The guards check the entries themselves.

    Raises:
        MalformedError: If the message holds no such reply.

    """
    plain, arrays = _unpack(content)
    lists = plain.get("lists", {})
    if not isinstance(lists, dict):
        raise MalformedError("its lists are not a table")
    columns = {name: _column(name, lists, arrays) for name in vars(order.empty())}
    rounds = _column("rounds", {}, arrays) if "rounds" in arrays else None
    lengths = {len(column) for column in (*columns.values(), rounds) if column is not None}
    if len(lengths) > 1:
        raise MalformedError("its columns differ in length")
    asked, late = len(order.clients), _whole_number(plain.get("late", 0))
    if max(lengths) + late > asked:
        raise MalformedError(f"it sends more answers than the {asked} that were asked for")
    return NodeReply(columns, rounds, late)


def _column(name: str, lists: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    if name in lists:
        number = _whole_number(lists[name])
        own = [arrays.get(f"{name}.{row}") for row in range(min(number, len(arrays) + 1))]
        if len(own) != number or any(each is None for each in own):
            raise MalformedError(f"a part of its {name} is missing")
        return own
    column = arrays.get(name)
    if column is None or not column.ndim:
        raise MalformedError(f"its {name} are missing")
    return column


def refusal_record(sentence: str) -> RecordDict:
    """Return the reason why a node does not answer, as records."""
    return _record({"refusal": sentence}, {})


def _record(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> RecordDict:
    packed = {
        name: Array.from_numpy_ndarray(np.ascontiguousarray(each)) for name, each in arrays.items()
    }
    about = ConfigRecord({"about": json.dumps(plain)})
    return RecordDict({ABOUT: about, ARRAYS: ArrayRecord(array_dict=packed)})


def _unpack(content: RecordDict) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    about, arrays = content.get(ABOUT), content.get(ARRAYS)
    if not isinstance(about, ConfigRecord) or not isinstance(arrays, ArrayRecord):
        raise MalformedError("it is not a message of flexcfl")
    try:
        plain = json.loads(str(about.get("about")))
        opened = {name: array.numpy() for name, array in arrays.items()}
    except Exception as error:  # NumPy may raise anything on bytes from a stranger
        raise MalformedError(f"it cannot be read ({type(error).__name__})") from None
    if not isinstance(plain, dict):
        raise MalformedError("it is not a message of flexcfl")
    if "refusal" in plain:
        raise MalformedError(str(plain["refusal"])[:LONGEST])
    return plain, opened


def _whole_number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**40:
        raise MalformedError(f"{value!r:.40} is not a whole number")
    return value
