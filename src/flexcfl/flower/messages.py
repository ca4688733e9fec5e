"""Orders and replies as Flower's records: arrays by name beside one line of JSON.

What comes in is only read as what the protocol declares: arrays without pickles, and plain values.
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

__all__ = [
    *("HELLO", "LONGEST", "MESSAGES", "NAME", "MalformedError", "NodeInfo", "NodeReply"),
    *("OrderHeading", "cast_updates", "node_info_record", "order_record", "read_node_info"),
    *("read_order", "read_reply", "refusal_record", "reply_record"),
]

ABOUT, ARRAYS = "flexcfl", "arrays"

# An order's kind as one of Flower's message types, which are a category and an action.
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

MOST = 10**8  # clients, classes, or numbers of an example
LONGEST = 1000  # characters of a sentence from another machine
NAME = re.compile(r"[0-9a-f]{16}")  # of a run or a session; one that is a path would lead elsewhere


class MalformedError(ValueError):
    """A message that breaks the protocol, or a refusal with its reason."""


@dataclass(frozen=True)
class OrderHeading:
    """What stands above every order.

    ``run`` names the run, whose clients' memory goes by it, and ``session`` one process of its
    server. Where earlier ones have crashed, ``lineage`` says up to which round each of them counts:
    the next one has gone back to its checkpoint. ``experiment`` is TOML.
    """

    run: str
    session: str
    round: int
    experiment: str
    updates: str = "float32"
    lineage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class NodeInfo:
    """Which clients a node hosts, of how many, and what their data are like."""

    clients: NDArray[np.int64]
    total: int
    shape: tuple[int, ...]
    classes: int


@dataclass(frozen=True, eq=False)
class NodeReply:
    """A reply's columns as a node sent them, each with one entry for every client.

    ``rounds`` are those to whose orders the rows answer, or None where all are of this one.
    """

    columns: Mapping[str, Any]
    rounds: Any
    late: int


def order_record(heading: OrderHeading, order: Order[Any] | None) -> RecordDict:
    """Return an order, or None for the question which clients a node hosts, as records."""
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
    """Return the heading and the order of a message, or raise ``MalformedError``.

    The values of their fields are not checked yet.
    """
    plain, arrays = _opened(content)
    try:
        heading, kind = OrderHeading(**plain.pop("heading")), plain.pop("kind", None)
        if kind is None:
            return heading, None
        if "local" in plain:
            plain["local"] = Local(**plain["local"])
        return heading, KINDS[kind](**plain, **arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MalformedError(f"the order makes no sense ({str(error)[:LONGEST]})") from None


def node_info_record(info: NodeInfo) -> RecordDict:
    """Return what describes a node as records."""
    plain = {"total": info.total, "shape": list(info.shape), "classes": info.classes}
    return _record(plain, {"clients": info.clients})


def read_node_info(content: RecordDict) -> NodeInfo:
    """Return what describes a node, or raise ``MalformedError``."""
    plain, arrays = _opened(content)
    clients = arrays.get("clients")
    if clients is None or clients.dtype != np.int64 or clients.ndim != 1 or not len(clients):
        raise MalformedError("it does not say which clients it hosts")
    try:
        total, classes = _whole(plain["total"]), _whole(plain["classes"])
        shape = tuple(_whole(each) for each in plain["shape"])
    except (KeyError, TypeError):
        raise MalformedError("it does not say what its data are like") from None
    # The server makes room for so much on the word of one node.
    if not (0 < total <= MOST and 0 < classes <= MOST and shape and 0 < prod(shape) <= MOST):
        raise MalformedError("its data cannot be like that")
    if clients.min() < 0 or clients.max() >= total:
        raise MalformedError(f"it hosts a client beyond the {total} that there are")
    return NodeInfo(np.unique(clients), total, shape, classes)


def cast_updates(updates: Any, dtype: str) -> Any:
    """Return updates as they travel; what one sends in place of them stays as it is."""
    if not isinstance(updates, np.ndarray):
        return [cast_updates(each, dtype) for each in updates]
    with np.errstate(over="ignore"):  # the server sees infinity, and turns it away
        return updates.astype(dtype)


def reply_record(reply: Any, updates: str) -> RecordDict:
    """Return what clients answered, or what was ``Received`` of them, as records."""
    received = reply if isinstance(reply, Received) else Received(reply)
    plain: dict[str, Any] = {"late": received.late, "lists": {}}
    arrays: dict[str, NDArray[Any]] = {}
    for each in fields(received.reply):
        column = getattr(received.reply, each.name)
        if each.name == "updates":
            column = cast_updates(column, updates)
        if isinstance(column, np.ndarray):
            arrays[each.name] = column
        else:  # where clients sent different things, each has an array of its own
            plain["lists"][each.name] = len(column)
            arrays |= {f"{each.name}.{place}": np.asarray(own) for place, own in enumerate(column)}
    if received.rounds is not None:
        arrays["rounds"] = received.rounds
    return _record(plain, arrays)


def read_reply(order: Order[Any], content: RecordDict) -> NodeReply:
    """Return what a node sent in answer to an order, or raise ``MalformedError``.

    Every column that the reply has is there, with one entry for each answer, of which there are no
    more than clients asked; what the entries are is looked at by the guards.
    """
    plain, arrays = _opened(content)
    lists = plain.get("lists", {})
    if not isinstance(lists, dict):
        raise MalformedError("its lists are none")
    columns = {name: _column(name, lists, arrays) for name in vars(order.empty())}
    rounds = _column("rounds", {}, arrays) if "rounds" in arrays else None
    lengths = {len(column) for column in (*columns.values(), rounds) if column is not None}
    if len(lengths) > 1:
        raise MalformedError("its columns are not of one length")
    asked, late = len(order.clients), _whole(plain.get("late", 0))
    if max(lengths) + late > asked:
        raise MalformedError(f"it has more answers than the {asked} that it was asked for")
    return NodeReply(columns, rounds, late)


def _column(name: str, lists: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    if name in lists:
        number = _whole(lists[name])
        own = [arrays.get(f"{name}.{place}") for place in range(min(number, len(arrays) + 1))]
        if len(own) != number or any(each is None for each in own):
            raise MalformedError(f"a part of its {name} is missing")
        return own
    column = arrays.get(name)
    if column is None or not column.ndim:
        raise MalformedError(f"its {name} are missing")
    return column


def refusal_record(sentence: str) -> RecordDict:
    """Return why a node does not answer, as records."""
    return _record({"refusal": sentence}, {})


def _record(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> RecordDict:
    packed = {
        name: Array.from_numpy_ndarray(np.ascontiguousarray(each)) for name, each in arrays.items()
    }
    about = ConfigRecord({"about": json.dumps(plain)})
    return RecordDict({ABOUT: about, ARRAYS: ArrayRecord(array_dict=packed)})


def _opened(content: RecordDict) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    about, arrays = content.get(ABOUT), content.get(ARRAYS)
    if not isinstance(about, ConfigRecord) or not isinstance(arrays, ArrayRecord):
        raise MalformedError("it is no message of flexcfl")
    try:
        plain = json.loads(str(about.get("about")))
        opened = {name: array.numpy() for name, array in arrays.items()}
    except Exception as error:  # NumPy, which reads what a stranger wrote, may raise anything
        raise MalformedError(f"it cannot be read ({type(error).__name__})") from None
    if not isinstance(plain, dict):
        raise MalformedError("it is no message of flexcfl")
    if "refusal" in plain:
        raise MalformedError(str(plain["refusal"])[:LONGEST])
    return plain, opened


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**40:
        raise MalformedError(f"{value!r:.40} stands where a number is wanted")
    return value
