"""The vocabulary between algorithms and executors: orders, replies, and how they converse.

An algorithm never touches data, models, files or sockets. It is server-side logic over flat
float32 vectors, written as generators that yield orders and receive replies; an executor fulfils
the orders, in one process or over a network. Orders are frozen values, so that they can be
counted, compared and driven by hand.
"""

from flexcfl.protocol.algorithm import (
    Algorithm,
    Clustering,
    Conversation,
    Executor,
    Initial,
    Serving,
    Welcoming,
    ask,
    drive,
    state_type,
)
from flexcfl.protocol.choosing import lowest_finite
from flexcfl.protocol.costs import Charge, Cost
from flexcfl.protocol.distinct import DistinctDraws
from flexcfl.protocol.local import Local
from flexcfl.protocol.order import Exchange, Order, Purpose, Reply, TrainingOrder
from flexcfl.protocol.orders import LOWEST_LOSS, Evaluate, Evaluated, Train, Trained
from flexcfl.protocol.placing import (
    CheckDrift,
    Checked,
    Choose,
    Chosen,
    Keep,
    Kept,
    Migrate,
    Place,
    Placed,
    Settle,
)
from flexcfl.protocol.received import Received, Traffic, among, of_those
from flexcfl.protocol.spans import numbers, spans
from flexcfl.protocol.vectors import (
    FIGURE_BYTES,
    FLOAT32_BYTES,
    NO_GROUP,
    Flags,
    Ids,
    Vector,
    Vectors,
)

__all__ = [
    "FIGURE_BYTES",
    "FLOAT32_BYTES",
    "LOWEST_LOSS",
    "NO_GROUP",
    "Algorithm",
    "Charge",
    "CheckDrift",
    "Checked",
    "Choose",
    "Chosen",
    "Clustering",
    "Conversation",
    "Cost",
    "DistinctDraws",
    "Evaluate",
    "Evaluated",
    "Exchange",
    "Executor",
    "Flags",
    "Ids",
    "Initial",
    "Keep",
    "Kept",
    "Local",
    "Migrate",
    "Order",
    "Place",
    "Placed",
    "Purpose",
    "Received",
    "Reply",
    "Serving",
    "Settle",
    "Traffic",
    "Train",
    "Trained",
    "TrainingOrder",
    "Vector",
    "Vectors",
    "Welcoming",
    "among",
    "ask",
    "drive",
    "lowest_finite",
    "numbers",
    "of_those",
    "spans",
    "state_type",
]
