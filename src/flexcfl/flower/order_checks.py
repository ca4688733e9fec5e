"""Checks that a node makes on the messages of a server, which may hold anything."""

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from flexcfl.errors import SettingsError
from flexcfl.flower.messages import NAME, MalformedError, OrderHeading
from flexcfl.protocol import LOWEST_LOSS, Ids, Order, Purpose

MOST_ROUNDS = 10**9
UPDATES = ("float32", "float16")
PLAIN: Mapping[str, tuple[Any, ...]] = {
    "purpose": get_args(Purpose),
    "split": ("train", "test"),
    "founding": (False, True),
    "placing": (False, True),
}
VECTORS = {"models": 2, "directions": 2, "origin": 1}
ONE = {number: np.zeros((1,) * number, dtype=np.float32) for number in VECTORS.values()}


def check_heading(heading: OrderHeading) -> None:
    """Raise ``MalformedError`` for a heading that no flexcfl server writes."""
    for name in (heading.run, heading.session):
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise MalformedError(f"{name!r:.40} is not the name of a run")
    if type(heading.round) is not int or not 0 <= heading.round <= MOST_ROUNDS:
        raise MalformedError(f"{heading.round!r:.40} is not the number of a round")
    lineage = heading.lineage
    if not isinstance(lineage, dict) or any(type(each) is not int for each in lineage.values()):
        raise MalformedError("it does not say which sessions count")
    if not isinstance(heading.experiment, str) or heading.updates not in UPDATES:
        raise MalformedError("it does not say what the experiment is")


def check_order(order: Order[Any], hosted: Ids) -> None:
    """Check an order for the clients that this node hosts.

    Raises:
        MalformedError: If a field of the order has a value that the protocol does not allow.
        SettingsError: If the order is for clients of other nodes.

    """
    clients: Any = order.clients  # it may be anything
    if not _is_array(clients, np.int64, 1):
        raise MalformedError("the order does not say to which clients it goes")
    foreign = np.setdiff1d(clients, hosted)
    if len(foreign):
        raise SettingsError(
            f"This node does not host client {foreign[0]} of the order: was it "
            "started again with other clients?"
        )
    # Two updates of one client would share their noise, so their difference would have none.
    if not order.measures and len(np.unique(clients)) < len(clients):
        raise MalformedError("the order names a client twice")
    _check_model_of(getattr(order, "model_of", LOWEST_LOSS), len(clients))
    _check_repeats(getattr(order, "repeats", None), len(clients))
    for name, dimensions in VECTORS.items():
        vectors = getattr(order, name, ONE[dimensions])
        if not _is_array(vectors, np.float32, dimensions) or not vectors.size:
            raise MalformedError(f"the {name} of the order are not float32 vectors")
    for name, known in PLAIN.items():
        if vars(order).get(name, known[0]) not in known:
            raise MalformedError(f"the order has an unknown {name}")
    if type(getattr(order, "groups", 0)) is not int:
        raise MalformedError("the order does not say how many groups there are")


def check_width(sent: Any, parameters: int) -> None:
    """Check that the vectors of an order or a keepsake have as many numbers as the model."""
    for name in VECTORS:
        width = getattr(sent, name).shape[-1] if hasattr(sent, name) else parameters
        if width != parameters:
            raise MalformedError(f"the {name} have {width} numbers, and the model has {parameters}")


def _check_model_of(model_of: Any, number: int) -> None:
    if isinstance(model_of, str) and model_of == LOWEST_LOSS:
        return
    if not _is_array(model_of, np.int64, 1) or len(model_of) != number:
        raise MalformedError("the order does not say which client uses which model")


def _check_repeats(repeats: Any, number: int) -> None:
    if repeats is None:
        return
    # A client trains a few times in a round, and seeds take numbers below 2**32.
    counts = _is_array(repeats, np.int64, 1) and len(repeats) == number
    if not counts or not ((repeats >= 0) & (repeats < 2**32)).all():
        raise MalformedError("the order does not say how often clients have trained before")


def _is_array(value: Any, dtype: type[Any], dimensions: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == dimensions
