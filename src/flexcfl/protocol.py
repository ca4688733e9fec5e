"""The vocabulary between algorithms and executors: orders, replies, and how they converse.

An algorithm never touches data, models, files or sockets. It is server-side logic over flat
float32 vectors, written as generators that yield orders and receive replies; an executor fulfils
the orders, in one process or over a network. Orders are frozen values, so that they can be
counted, compared and driven by hand.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

__all__ = [
    "Algorithm",
    "Conversation",
    "Evaluate",
    "Evaluated",
    "Exchange",
    "Executor",
    "Ids",
    "Initial",
    "Local",
    "Order",
    "Reply",
    "Serving",
    "Train",
    "Trained",
    "Vector",
    "Vectors",
    "ask",
    "drive",
]

Vector: TypeAlias = NDArray[np.float32]
Vectors: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int64]

Positive = Annotated[int, Field(ge=1, le=10**9)]
# The upper bounds keep a step's factors, such as rate * prox, within float32.
Rate = Annotated[float, Field(gt=0, le=1e32, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]

FLOAT32_BYTES = 4
FIGURE_BYTES = 8  # a count or a loss, as one 64-bit number


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Local:
    """How a client trains: mini-batch SGD over its own data.

    ``steps``, where given, is a number of mini-batches and takes the place of ``epochs``. ``l2``
    adds ``l2 * sum(w ** 2)`` over weight matrices (not biases) to the objective, ``prox`` FedProx's
    ``prox / 2 * |w - w_start| ** 2`` over all parameters. Losses reported are always data losses.
    """

    epochs: Positive = 10
    steps: Positive | None = None
    batch: Positive = 10
    rate: Rate = 0.03
    l2: Weight = 0.0
    prox: Weight = 0.0


ReplyT = TypeVar("ReplyT")
ReplyT_co = TypeVar("ReplyT_co", covariant=True)
StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")


def _check_models(models: Vectors) -> None:
    """Find out early that an algorithm's arithmetic has promoted its models to float64."""
    if models.dtype != np.float32:
        raise TypeError(f"models travel as float32, not {models.dtype}")


class Order(ABC, Generic[ReplyT_co]):
    """A request to clients that brings back one kind of reply."""

    @property
    @abstractmethod
    def down_bytes(self) -> int:
        """What it sends to the clients."""


class Reply(Protocol):
    """What clients answered to an order."""

    @property
    def up_bytes(self) -> int:
        """What it brought back from the clients."""
        ...


Exchange: TypeAlias = tuple[Order[Any], Reply]


@dataclass(frozen=True, eq=False)
class Trained:
    """What came back, in the order asked, without those who stayed silent.

    ``updates`` are the trained minus the received models, ``loss`` is the mean data loss over the
    client's last local epoch, ``examples`` the size of its training set.
    """

    clients: Ids
    updates: Vectors
    examples: Ids
    loss: NDArray[np.float64]

    @property
    def up_bytes(self) -> int:
        """One update, one count and one loss from every client that answered."""
        return self.updates.size * FLOAT32_BYTES + len(self.clients) * 2 * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Train(Order[Trained]):
    """Ask clients to train, client ``clients[i]`` from ``models[model_of[i]]``."""

    clients: Ids
    models: Vectors
    model_of: Ids
    local: Local

    def __post_init__(self) -> None:
        _check_models(self.models)

    @property
    def down_bytes(self) -> int:
        """One model to every client asked."""
        return int(len(self.clients) * self.models.shape[1] * FLOAT32_BYTES)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Per client: the sum of the data losses, the number of hits and of examples."""

    clients: Ids
    loss: NDArray[np.float64]
    hits: Ids
    examples: Ids

    @property
    def up_bytes(self) -> int:
        """Three figures from every client that answered."""
        return len(self.clients) * 3 * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Evaluate(Order[Evaluated]):
    """Ask clients to measure ``models[model_of[i]]`` on their own training or test data."""

    clients: Ids
    models: Vectors
    model_of: Ids
    split: Literal["train", "test"] = "test"

    def __post_init__(self) -> None:
        _check_models(self.models)

    @property
    def down_bytes(self) -> int:
        """One model to every client asked."""
        return int(len(self.clients) * self.models.shape[1] * FLOAT32_BYTES)


@dataclass(frozen=True, eq=False)
class Serving:
    """The models in service and, for every client, which one it uses."""

    models: Vectors
    model_of: Ids


class Executor(Protocol):
    """Whoever fulfils orders: the simulator in one process, or a network."""

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        """Return the reply of the clients that answered, in the order asked."""
        ...


Initial: TypeAlias = Callable[[np.random.Generator], Vector]
Conversation: TypeAlias = Generator[Order[Any], Any, ResultT]


def ask(order: Order[ReplyT]) -> Conversation[ReplyT]:
    """Yield one order and hand back its reply; used with ``yield from``."""
    reply: ReplyT = yield order
    return reply


def drive(conversation: Conversation[ResultT], executor: Executor) -> ResultT:
    """Hold a conversation with an executor until it returns its result."""
    reply: Any = None
    while True:
        try:
            order = conversation.send(reply)
        except StopIteration as stop:
            result: ResultT = stop.value
            return result
        reply = executor(order)


class Algorithm(Protocol[StateT]):
    """The server's side of a method: a small value whose state is a frozen dataclass of arrays."""

    def start(
        self, initial: Initial, clients: int, rng: np.random.Generator
    ) -> Conversation[StateT]:
        """Make the first models; ``initial(rng)`` draws a random one."""
        ...

    def round(self, state: StateT, cohort: Ids, rng: np.random.Generator) -> Conversation[StateT]:
        """Hold one communication round with the cohort."""
        ...

    def serving(self, state: StateT) -> Serving:
        """Say which models are in service and which one each client uses."""
        ...
