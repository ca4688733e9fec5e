"""Shifts by which clients come to see their data in another way, each client by itself.

``Rotation`` is a covariate shift: the inputs change and what they mean stays. It has clients with
rotated images as in Ghosh, Chung, Yin, Ramchandran: An Efficient Framework for Clustered Federated
Learning, NeurIPS 2020. ``LabelPermutation`` is a concept shift: the inputs stay and what they are
called changes. It has clients with permuted labels as in Sattler, Müller, Samek: Clustered
Federated Learning, IEEE TNNLS 32, 2021. Both happen here while the training runs.
"""

from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.data.federation import Federation
from flexcfl.data.variants import TURNS
from flexcfl.errors import SettingsError
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.shift import FORBID, Moment, Probability

__all__ = ["LabelPermutation", "Rotation"]

FEW_CLASSES = 6  # whose 720 permutations are listed; of more, any 1,000 are soon drawn

Way = TypeVar("Way", bound=np.signedinteger[Any])


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
        turns = _changed(holdings.turns, TURNS, self.probability, moment)
        return holdings if turns is holdings.turns else replace(holdings, turns=turns)


@settings(frozen=True, config=FORBID)
class LabelPermutation:
    """Clients call the classes of all their data, training and test, by permuted labels.

    There are so many ``labellings``, all different: the data's own, which everybody has at the
    start, and random ones that leave no label in place where the number of classes allows it. In
    each round every eligible client changes to another labelling with ``probability``.
    """

    variants: ClassVar[bool] = True

    probability: Probability = 0.05
    labellings: Annotated[int, Field(ge=2, le=1000)] = 4

    def check(self, federation: Federation) -> None:
        """Refuse classes of which there are not that many permutations."""
        classes = federation.classes
        possible = factorial(min(classes, FEW_CLASSES + 1))
        if possible < self.labellings:
            advice = f"lower it to at most {possible}" if possible > 1 else "leave the shift out"
            raise SettingsError(
                f"The shift 'label-permutation' has labellings = {self.labellings}, and "
                f"{classes} classes, as '{federation.name}' has, can be labelled in {possible} "
                f"different ways only: {advice}."
            )

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Give this round's clients another labelling; all labellings are drawn at the start."""
        if moment.number == 0:
            drawn = _labellings(self.labellings, moment.classes, moment.rng)
            holdings = replace(holdings, labellings=drawn)
        labelling = _changed(holdings.labelling, self.labellings, self.probability, moment)
        same = labelling is holdings.labelling
        return holdings if same else replace(holdings, labelling=labelling)


def _changed(way: NDArray[Way], ways: int, probability: float, moment: Moment) -> NDArray[Way]:
    """Return every client's way, of which ``ways`` exist, after some went to another one.

    Each eligible client changes with ``probability``, to all other ways with the same chance. Where
    none does, what is returned is what was given.
    """
    # Drawn for all clients, so that a client's change does not depend on which others are eligible.
    goes = moment.rng.random(moment.clients) < probability
    steps = moment.rng.integers(1, ways, size=moment.clients)
    eligible = np.zeros(moment.clients, dtype=np.bool_)
    eligible[moment.visited] = True
    changes = np.flatnonzero(goes & eligible)
    if not len(changes):
        return way
    after = way.copy()
    after[changes] = (way[changes] + steps[changes]) % ways
    return after


def _labellings(number: int, classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return different permutations, the plain one first and those with fixed points last."""
    plain = np.arange(classes)
    if classes <= FEW_CLASSES:
        others = rng.permutation(np.array(list(permutations(range(classes))))[1:])
        fixed = (others == plain).any(axis=1)
        return np.vstack([plain, others[np.argsort(fixed, kind="stable")]])[:number]
    found = {tuple(plain.tolist()): plain}
    while len(found) < number:
        drawn = rng.permutation(classes)
        if not (drawn == plain).any():
            found[tuple(drawn.tolist())] = drawn
    return np.array(list(found.values()))
