"""What a client runs on its own data to see whether they have changed; only a verdict leaves it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from flexcfl.protocol import Flags, Ids

__all__ = ["FORBID", "Detector", "Fraction", "Level", "Profiles", "Samples"]

FORBID = ConfigDict(extra="forbid")

Fraction: TypeAlias = Annotated[float, Field(ge=0, lt=1)]
Level: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Profiles: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Samples:
    """The training data that the clients asked have now, one row or position for each of them.

    ``counts`` has their label counts, of shape (clients asked, classes), ``first_sizes`` how many
    training examples each had at the start of the run, and ``examples(i)`` gives the examples and
    labels ``(x, y)`` of the ``i``-th, for detectors that look at more than labels.
    """

    counts: NDArray[np.int64]
    first_sizes: Ids
    examples: Callable[[int], tuple[NDArray[np.float32], Ids]]


class Detector(Protocol):
    """A rule that compares what a client kept when it was placed with what it has now.

    Both sides are profiles, one row of numbers for each client, as many for one as for another.
    Rows are judged each on its own: what one client holds has no say in another's verdict.
    """

    def profiles(self, samples: Samples) -> Profiles:
        """Return one row per client: all that it keeps of its data when it is placed."""
        ...

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return for each row whether the data changed between the two profiles."""
        ...
