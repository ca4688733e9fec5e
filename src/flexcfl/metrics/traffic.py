"""Bytes that a round's orders send to clients and bring back from them.

Counted are the orders of the algorithm; the runner's own evaluation of the models is not.
"""

from collections.abc import Sequence

from flexcfl.protocol import Exchange

__all__ = ["traffic"]


def traffic(exchanges: Sequence[Exchange]) -> tuple[int, int]:
    """Return the bytes down to and up from the clients, over all orders and their replies."""
    down = sum(order.down_bytes for order, _ in exchanges)
    up = sum(reply.up_bytes for _, reply in exchanges)
    return down, up
