"""What every contestant is given: the federation, the cohorts, the local work and the first model.

Read from one file with NumPy alone, because contestants run in environments of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Contestant", "Floats", "Ids", "Serve", "Task"]

Floats: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """One work: client ``c`` owns the rows ``indices[offsets[c]:offsets[c + 1]]`` of ``x``, ``y``.

    ``cohorts[n]`` are the clients of round ``n``; ``initial`` is the first model by the names and
    in the shapes of the torch module; ``probe`` are rows that show whether a model has learnt.
    """

    path: Path
    work: str
    x: Floats
    y: Ids
    indices: Ids
    offsets: Ids
    cohorts: Ids
    probe: Ids
    initial: dict[str, Floats]
    epochs: int
    batch: int
    rate: float

    @classmethod
    def read(cls, path: Path, work: str) -> "Task":
        """Read one work from the federation file."""
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        prefix = f"initial/{work}/"
        initial = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        fields = ("x", "y", "indices", "offsets", "cohorts", "probe")
        values: dict[str, Any] = {name: arrays[name] for name in fields}
        values |= {name: int(arrays[name]) for name in ("epochs", "batch")}
        return cls(path, work, **values, initial=initial, rate=float(arrays["rate"]))

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.offsets) - 1

    def rows(self, client: int) -> Ids:
        """Return the training examples of a client."""
        return self.indices[self.offsets[client] : self.offsets[client + 1]]

    def cohort(self, number: int) -> list[int]:
        """Return the clients of a round."""
        return [int(client) for client in self.cohorts[number]]

    def steps(self, number: int) -> int:
        """Return the mini-batches of a round whose epochs end with what is left of a batch."""
        sizes = (len(self.rows(client)) for client in self.cohort(number))
        return sum(self.epochs * -(-size // self.batch) for size in sizes)

    def accuracy(self, scores: NDArray[Any]) -> float:
        """Return the share of the probe whose highest score is that of its class."""
        return float((scores.argmax(axis=-1) == self.y[self.probe]).mean())


class Contestant(Protocol):
    """Somebody who trains the global model of federated averaging, round by round."""

    def round(self, number: int) -> int:
        """Train the cohort, average, keep the next global model; return the client steps done."""
        ...

    def scores(self, x: Floats) -> NDArray[Any]:
        """Return what the global model says of some examples, a column for each class."""
        ...


Serve: TypeAlias = Callable[[Contestant], None]
