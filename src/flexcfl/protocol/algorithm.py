"""The two sides of a conversation: an algorithm yields orders, an executor fulfils them."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, get_type_hints, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol.order import Order
from flexcfl.protocol.vectors import NO_GROUP, Flags, Ids, Vector, Vectors

ReplyT = TypeVar("ReplyT")
StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class Clustering:
    """Groups of clients found by clustering their updates, and how good the clustering is.

    ``embedding`` has one row for each client: its point, for pictures. ``within`` is the sum of
    squared distances between the points and the means of their groups. ``silhouette`` lies between
    -1 and 1. It is None with a single group, or when every client is a group of its own.
    """

    clients: Ids
    group_of: Ids
    groups: int
    embedding: NDArray[np.float64]
    within: float
    silhouette: float | None

    def __repr__(self) -> str:
        judged = "unknown" if self.silhouette is None else f"{self.silhouette:.2f}"
        return (
            f"Clustering(clients {len(self.clients):,}, groups {self.groups}, silhouette {judged})"
        )


@dataclass(frozen=True, eq=False)
class Serving:
    """The models in service, and which one each client uses (``NO_GROUP``: none yet).

    ``auxiliary`` is an additional model shared by all clients, if the algorithm keeps one.
    ``clustering`` says how the groups were found, if they were found by clustering updates.
    ``waiting`` lists models that are not groups: they serve clients that were absent when their
    group was divided, until these clients follow. ``exchanged`` counts the models that groups
    exchange in a round.
    """

    models: Vectors
    model_of: Ids
    auxiliary: Vector | None = None
    clustering: Clustering | None = None
    waiting: tuple[int, ...] = ()
    exchanged: int = 0

    def __repr__(self) -> str:
        models = " x ".join(f"{size:,}" for size in self.models.shape)
        placed = f"{np.count_nonzero(self.model_of != NO_GROUP):,} of {len(self.model_of):,}"
        return f"Serving(models {models}, clients placed {placed})"

    @property
    def groups(self) -> Ids:
        """The numbers of the models that are groups."""
        return np.setdiff1d(np.arange(len(self.models)), self.waiting)


class Executor(Protocol):
    """Fulfils orders: the simulator in one process, or a network of nodes."""

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        """Return the reply of the clients that answered, in the order asked."""
        ...


Initial: TypeAlias = Callable[[np.random.Generator], Vector]
"""Draws the vector of a new model."""
Conversation: TypeAlias = Generator[Order[Any], Any, ResultT]
"""A generator that yields orders, is sent their replies, and returns a result."""


def ask(order: Order[ReplyT]) -> Conversation[ReplyT]:
    """Yield one order and return its reply; use it with ``yield from``."""
    reply: ReplyT = yield order
    return reply


def drive(conversation: Conversation[ResultT], executor: Executor) -> ResultT:
    """Run a conversation with an executor, and return its result."""
    reply: Any = None
    while True:
        try:
            order = conversation.send(reply)
        except StopIteration as stop:
            result: ResultT = stop.value
            return result
        reply = executor(order)


class Algorithm(Protocol[StateT]):
    """The server's side of a method: a small value whose state is a frozen dataclass of arrays.

    A state may hold arrays, numbers, None, tuples, and dataclasses of these. Its annotations must
    name the types, such as ``NDArray[np.float32]`` for an array. A run saves the state between
    rounds and restores it by the type that ``serving`` takes; it refuses any other state at the
    start. ``present`` has one flag for each client that will ever exist: whether it has arrived.
    """

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[StateT]:
        """Make the first models; ``initial(rng)`` draws a random one."""
        ...

    def round(
        self, state: StateT, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[StateT]:
        """Run one communication round with the cohort, or with more of the clients present."""
        ...

    def serving(self, state: StateT) -> Serving:
        """Return the models in service and which one each client uses."""
        ...


@runtime_checkable
class Welcoming(Protocol[StateT]):
    """An algorithm that can place a single newcomer after training, without other clients."""

    def newcomer(self, state: StateT) -> StateT:
        """Return the state for a federation of one client that has just arrived.

        The state has the same models and a single client, number 0, which has no group yet. A
        ``round`` with this client alone places it as a round with all clients would.
        """
        ...


def state_type(algorithm: Algorithm[Any]) -> Any:
    """Return the type of an algorithm's state, from the annotation of its ``serving``.

    Raises:
        TypeError: If the annotation is missing, or names a type that the module does not have.

    """
    try:
        return get_type_hints(type(algorithm).serving)["state"]
    except (KeyError, NameError):
        raise TypeError(
            f"{type(algorithm).__name__} does not name the type of its state: annotate it, as in "
            "'def serving(self, state: MyState) -> Serving', with a type that its module has."
        ) from None
