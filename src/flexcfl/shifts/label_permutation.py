"""Label permutation: for some clients the labels come to mean something else, a concept shift.

The inputs stay and what they are called changes: clients with permuted labels as in Sattler,
Müller, Samek: Clustered Federated Learning, IEEE TNNLS 32, 2021, but while the training runs.
"""

from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.data.federation import Federation
from flexcfl.errors import SettingsError
from flexcfl.shifts.changes import changed
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.options import FORBID, Probability
from flexcfl.shifts.shift import Moment

__all__ = ["LabelPermutation"]

FEW_CLASSES = 6  # whose 720 permutations are listed; of more, any 1,000 are soon drawn


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
        labelling = changed(holdings.labelling, self.labellings, self.probability, moment)
        same = labelling is holdings.labelling
        return holdings if same else replace(holdings, labelling=labelling)


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
