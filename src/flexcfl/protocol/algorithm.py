"""The two sides of a conversation: algorithms that ask, executors that fulfil."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, get_type_hints, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol.order import Order
from flexcfl.protocol.vectors import NO_GROUP, Flags, Ids, Vector, Vectors

__all__ = [
    "Algorithm",
    "Clustering",
    "Conversation",
    "Executor",
    "Initial",
    "Serving",
    "Welcoming",
    "ask",
    "drive",
    "state_type",
]

ReplyT = TypeVar("ReplyT")
StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class Clustering:
    """Clients divided by their updates, with what one needs to judge the division.

    ``embedding`` holds a point for each client (one row), for pictures. ``within`` is the sum of
    squared distances of the points to the means of their groups; ``silhouette`` lies between -1
    and 1, and is None where there are not at least two groups and one client more than groups.
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
    """The models in service and, for every client, which one it uses (``NO_GROUP``: none yet).

    ``auxiliary`` is one model for everybody beside them, where the algorithm keeps one, and
    ``clustering`` how the groups were found, where they were found by clustering updates.
    ``waiting`` are the numbers of models that are no groups: they serve clients that were away
    when a group was divided, until these follow. ``exchanged`` counts the models that groups hand
    to each other in a round, where they share.
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
    """Whoever fulfils orders: the simulator in one process, or a network."""

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        """Return the reply of the clients that answered, in the order asked."""
        ...


Initial: TypeAlias = Callable[[np.random.Generator], Vector]
"""Draws the vector of a new model."""
Conversation: TypeAlias = Generator[Order[Any], Any, ResultT]
"""What an algorithm is made of: it yields orders, is sent replies, and returns a result."""


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
    """The server's side of a method: a small value whose state is a frozen dataclass of arrays.

    A state may hold arrays, numbers, None, tuples and such dataclasses, each as its annotation
    says, with arrays as ``NDArray[np.float32]`` or of another type of numbers: so it can be written
    down between rounds, and built again by the type that ``serving`` takes. A run refuses any other
    state at its start. ``present`` has one flag for every client that there will ever be: whether
    it has arrived.
    """

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[StateT]:
        """Make the first models; ``initial(rng)`` draws a random one."""
        ...

    def round(
        self, state: StateT, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[StateT]:
        """Hold one communication round with the cohort, or with more of those present."""
        ...

    def serving(self, state: StateT) -> Serving:
        """Say which models are in service and which one each client uses."""
        ...


@runtime_checkable
class Welcoming(Protocol[StateT]):
    """An algorithm that can place one newcomer by itself, when the others are no longer there."""

    def newcomer(self, state: StateT) -> StateT:
        """Return the state as one client alone finds it that has just arrived.

        It has the same models, and of clients only that one, number 0, which is not placed yet: a
        ``round`` with it alone does to it what a round with everybody would.
        """
        ...


def state_type(algorithm: Algorithm[Any]) -> Any:
    """Return the type of an algorithm's state: what its ``serving`` says that it takes.

    Raises a ``TypeError`` where that says nothing, or names a type that its module does not have.
    """
    try:
        return get_type_hints(type(algorithm).serving)["state"]
    except (KeyError, NameError):
        raise TypeError(
            f"{type(algorithm).__name__} does not say of which type its state is: annotate it, as "
            "in 'def serving(self, state: MyState) -> Serving', with a type that its module has."
        ) from None
