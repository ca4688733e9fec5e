"""Shifts that change how single clients see their data.

``Rotation`` is a covariate shift: the inputs change, their labels do not. It rotates clients'
images as in Ghosh, Chung, Yin, Ramchandran: An Efficient Framework for Clustered Federated
Learning, NeurIPS 2020. ``LabelPermutation`` is a concept shift: the inputs do not change, their
labels do. It permutes clients' labels as in Sattler, Müller, Samek: Clustered Federated Learning,
IEEE TNNLS 32, 2021. Here both happen during training.
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

FEW_CLASSES = 6  # all 720 permutations are listed; with more classes, 1,000 are drawn quickly

Way = TypeVar("Way", bound=np.signedinteger[Any])


@settings(frozen=True, config=FORBID)
class Rotation:
    """Clients see all their images, training and test, turned by quarter turns.

    In each round every eligible client's images turn with ``probability``, by one, two or three
    quarter turns from their last position.
    """

    variants: ClassVar[bool] = True

    probability: Probability = 0.05

    def check(self, federation: Federation) -> None:
        """Refuse examples that are not square images."""
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
    """Clients use permuted labels for all their data, training and test.

    ``labellings`` is the number of different labellings: the original one, which all clients use
    at the start, and random ones that leave no label in place if the number of classes allows it.
    In each round every eligible client changes to another labelling with ``probability``.
    """

    variants: ClassVar[bool] = True

    probability: Probability = 0.05
    labellings: Annotated[int, Field(ge=2, le=1000)] = 4

    def check(self, federation: Federation) -> None:
        """Refuse data with too few classes for this number of labellings."""
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
    """Return the way, one of ``ways``, in which each client sees its data after this round.

    Each eligible client changes with ``probability``, to any other way with the same chance. If no
    client changes, the same array is returned.
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
    """Return different permutations, the identity first and those with fixed points last."""
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
