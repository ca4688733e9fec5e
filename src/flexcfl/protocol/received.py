"""What came in for an order, before anybody has looked at it."""

from dataclasses import astuple, dataclass, fields, replace
from typing import Any, TypeVar

from flexcfl.protocol.order import Order
from flexcfl.protocol.vectors import FLOAT32_BYTES, Flags, Ids

__all__ = ["Received", "Traffic", "among", "of_those"]

OrderT = TypeVar("OrderT", bound=Order[Any])


@dataclass(frozen=True)
class Traffic:
    """What an order cost on a network: messages, and bytes down to nodes and up from them.

    ``wire`` are the bytes of the arrays in them, which can be told beforehand, and ``sent`` those
    of whole messages as they were handed over. What these have more is framing.
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

    ``reply`` has the form of the order's reply, but where clients sent something else for an
    update, ``updates`` is a list with what each of them sent. ``rounds`` says, for each client, to
    which round's order it answers, and is None where all answer to this one. ``late`` counts the
    clients whose answers did not come in time and were not waited for. ``traffic`` is what it cost,
    where there is a network, on which a number of an update takes ``number_bytes``.
    """

    reply: Any
    rounds: Ids | None = None
    late: int = 0
    traffic: Traffic | None = None
    number_bytes: int = FLOAT32_BYTES


def among(order: OrderT, asked: Flags) -> OrderT:
    """Return an order to some of its clients: those of its list that are flagged."""
    parts: dict[str, Any] = {"clients": order.clients[asked]}
    for name in ("model_of", "repeats"):
        each = getattr(order, name, None)
        if each is not None and not isinstance(each, str):
            parts[name] = each[asked]
    return replace(order, **parts)


def of_those(reply: Any, kept: Flags) -> Any:
    """Return what some of the clients answered: those of its list that are flagged."""
    if kept.all():
        return reply
    return replace(reply, **{each.name: getattr(reply, each.name)[kept] for each in fields(reply)})
