"""Rotation: some clients' images are turned, a covariate shift.

The inputs change and what they mean stays: clients with rotated images as in Ghosh, Chung, Yin,
Ramchandran: An Efficient Framework for Clustered Federated Learning, NeurIPS 2020, but while the
training runs.
"""

from dataclasses import replace
from typing import ClassVar

from pydantic.dataclasses import dataclass as settings

from flexcfl.data.federation import Federation
from flexcfl.data.variants import TURNS
from flexcfl.errors import SettingsError
from flexcfl.shifts.changes import changed
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.options import FORBID, Probability
from flexcfl.shifts.shift import Moment

__all__ = ["Rotation"]


@settings(frozen=True, config=FORBID)
class Rotation:
    """Clients see all their images, training and test, turned by quarter turns.

    In each round every eligible client's images turn with ``probability``, by one, two or three
    quarter turns from how they were.
    """

    variants: ClassVar[bool] = True

    probability: Probability = 0.05

    def check(self, federation: Federation) -> None:
        """Refuse examples that are no square images."""
        shape = federation.shape
        if len(shape) not in (2, 3) or shape[-1] != shape[-2] or shape[-1] == 1:
            raise SettingsError(
                f"The shift 'rotation' turns square images, and the examples of "
                f"'{federation.name}' are of shape {shape}: leave the shift out, or give images "
                "of shape (height, width) or (channels, height, width) with equal sides."
            )

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Turn the images of this round's clients."""
        turns = changed(holdings.turns, TURNS, self.probability, moment)
        return holdings if turns is holdings.turns else replace(holdings, turns=turns)
