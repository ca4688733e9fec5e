"""The interface of a shift: a rule that changes which client holds what when a round begins."""

from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from flexcfl.data.federation import Federation
from flexcfl.protocol import Ids
from flexcfl.shifts.holdings import Holdings

FORBID = ConfigDict(extra="forbid")

Probability: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Rounds: TypeAlias = Annotated[int, Field(ge=1, le=10**9)]


@dataclass(frozen=True, eq=False)
class Moment:
    """The beginning of round ``number`` as a shift sees it; the start of the run is round 0.

    ``visited`` are the clients that the shift may change, in ascending order; at the start there
    are none. ``y`` are the labels of the pool; ``holdings.examples`` returns the pool indices in
    given slots. ``rng`` is the generator of this shift in this round.
    """

    number: int
    visited: Ids
    y: NDArray[np.int64]
    clients: int
    classes: int
    rng: np.random.Generator


class Shift(Protocol):
    """A rule by which the clients' data change; its options are its fields."""

    @property
    def variants(self) -> bool:
        """Whether the shift can change how clients see their data, by turns or labellings."""
        ...

    def check(self, federation: Federation) -> None:
        """Raise a ``SettingsError`` of one sentence if the shift cannot work on these data."""
        ...

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Return the holdings after the shift; do not change those that are given.

        It is called for every round, starting with 0. Draw what holds for the whole run in round 0;
        ``labellings`` must be drawn then.
        """
        ...
