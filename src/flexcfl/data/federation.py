"""A federation: one pool of arrays and, for every client, the indices of its own examples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.data import federation_checks as checks
from flexcfl.data.client_lists import IndexLists, MadeLists

__all__ = ["Federation", "stand_in"]


@dataclass(frozen=True, eq=False)
class Federation:
    """Clients and their data: a pool ``x``, ``y``, and client by client ``train`` and ``test``.

    ``x`` has the shape ``(examples, *shape of one example)``, ``y`` holds labels in
    ``range(classes)``. Every client has at least one training example. Arrays of other types are
    turned into contiguous float32 and int64 ones; arrays that already are such are not copied.
    Plain lists of indices, one per client, are turned into ``IndexLists``; ``MadeLists`` are made
    for the clients asked for, so that there may be very many. ``structure`` says which true cluster
    every client is of, where that is known, to judge the groups that are found. ``names`` are what
    clients are called where they have names; else they are known by their numbers alone.
    """

    name: str
    x: NDArray[np.float32]
    y: NDArray[np.int64]
    train: IndexLists | MadeLists
    test: IndexLists | MadeLists
    classes: int
    structure: NDArray[np.int64] | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checks.check_name_and_classes(self.name, self.classes)
        object.__setattr__(self, "x", checks.numbers(self.name, self.x))
        object.__setattr__(self, "y", checks.labels(self.name, self.y, len(self.x)))
        for part in ("train", "test"):
            lists = getattr(self, part)
            if not isinstance(lists, IndexLists | MadeLists):
                object.__setattr__(self, part, IndexLists.of(lists))
        names = checks.names(self.name, self.names, self.clients)
        object.__setattr__(self, "names", names)
        whose = checks.Whose(self.name, names, self.train, self.test)
        checks.check_lists(whose, len(self.y))
        checks.check_numbers(whose, self.x)
        checks.check_labels(whose, self.y, self.classes)
        if self.structure is not None:
            structure = checks.structure(self.name, self.structure, self.clients)
            object.__setattr__(self, "structure", structure)

    def __repr__(self) -> str:
        train, test = (f"{int(each.sizes.sum()):,}" for each in (self.train, self.test))
        shape = " x ".join(map(str, self.shape))
        return (
            f"Federation {self.name!r}: clients {self.clients:,}, classes {self.classes:,}\n"
            f"training examples {train}, test examples {test}\n"
            f"shape of an example {shape}"
        )

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.train)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.x.shape[1:]


def stand_in(name: str, clients: int, shape: tuple[int, ...], classes: int) -> Federation:
    """Return a federation in the place of one whose examples are elsewhere.

    One blank example stands for the examples of all clients.
    """
    lists = IndexLists(np.zeros(clients, dtype=np.int64), np.arange(clients + 1))
    x, y = np.zeros((1, *shape), dtype=np.float32), np.zeros(1, dtype=np.int64)
    return Federation(name, x, y, lists, lists, classes)
