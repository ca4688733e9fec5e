"""Incremental: clients have part of their training data at first, and later more.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 33, 2022, Section 5.3.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.data.federation import Federation
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.shift import FORBID, Moment


@settings(frozen=True, config=FORBID)
class Release:
    """From ``round`` on, this ``share`` of every client's training data is released."""

    round: Annotated[int, Field(ge=0, le=10**9)]
    share: Annotated[float, Field(gt=0, le=1)]


PAPER = (Release(0, 0.25), Release(50, 0.5), Release(100, 0.75), Release(150, 1.0))


@settings(frozen=True, config=FORBID)
class Incremental:
    """The clients' training data are released bit by bit; test data are there from the start.

    Each entry of ``schedule`` has a ``round``, from which on a ``share`` of every client's training
    examples is released. The default is the paper's: a quarter at the start, and a quarter more in
    the rounds 50, 100 and 150. A share is rounded to the nearest whole number of examples, halves
    up, and is at least one. Every example has a random priority for the whole run; a client's
    examples with the lowest priorities are released first.
    """

    variants: ClassVar[bool] = False

    schedule: tuple[Release, ...] = PAPER

    def __post_init__(self) -> None:
        rounds = [release.round for release in self.schedule]
        shares = [release.share for release in self.schedule]
        if not rounds or rounds[0] != 0:
            raise ValueError(
                "schedule must begin with round 0, such as [{round = 0, share = 0.25}, "
                "{round = 50, share = 1.0}]."
            )
        for name, values in (("rounds", rounds), ("shares", shares)):
            if any(later <= earlier for earlier, later in pairwise(values)):
                listed = ", ".join(f"{value:g}" for value in values)
                raise ValueError(f"schedule has the {name} {listed}: each must exceed the last.")

    def check(self, federation: Federation) -> None:
        """Accept every federation."""

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Release the share of this round; priorities are drawn at the start."""
        share = max(each.share for each in self.schedule if each.round <= moment.number)
        if moment.number == 0:
            priority = moment.rng.random(len(holdings.train))
            return replace(holdings, share=share, priority=priority)
        return holdings if share == holdings.share else replace(holdings, share=share)
