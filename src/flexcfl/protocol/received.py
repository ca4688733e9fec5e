"""Replies as they arrive, before any validation."""

from dataclasses import astuple, dataclass, fields, replace
from typing import Any, TypeVar

from flexcfl.protocol.order import Order
from flexcfl.protocol.vectors import FLOAT32_BYTES, Flags, Ids

OrderT = TypeVar("OrderT", bound=Order[Any])


@dataclass(frozen=True)
class Traffic:
    """What an order cost on a network: messages, and bytes down to nodes and up from them.

    ``wire`` counts the bytes of the arrays in the messages, which are known in advance. ``sent``
    counts the bytes of whole messages as handed to the network; the difference is framing.
    """

    messages: int = 0
    wire_down_bytes: int = 0
    wire_up_bytes: int = 0
    sent_down_bytes: int = 0
    sent_up_bytes: int = 0

    def __add__(self, other: "Traffic") -> "Traffic":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Traffic(*(one + another for one, another in pairs))


@dataclass(frozen=True, eq=False)
class Received:
    """A reply as clients sent it, which may hold anything.

    ``reply`` has the form of the order's reply, except that ``updates`` is a list of what each
    client sent if any of it is not a valid update. ``rounds`` names the round whose order each
    client answers; None means the current one. ``late`` counts the clients whose answers did not
    arrive in time. ``traffic`` is the cost on a network, and ``number_bytes`` is the size of a
    number of an update there.
    """

    reply: Any
    rounds: Ids | None = None
    late: int = 0
    traffic: Traffic | None = None
    number_bytes: int = FLOAT32_BYTES


def among(order: OrderT, asked: Flags) -> OrderT:
    """Return the order restricted to the flagged clients."""
    parts: dict[str, Any] = {"clients": order.clients[asked]}
    for name in ("model_of", "repeats"):
        each = getattr(order, name, None)
        if each is not None and not isinstance(each, str):
            parts[name] = each[asked]
    return replace(order, **parts)


def of_those(reply: Any, kept: Flags) -> Any:
    """Return the reply restricted to the flagged clients."""
    if kept.all():
        return reply
    return replace(reply, **{each.name: getattr(reply, each.name)[kept] for each in fields(reply)})
