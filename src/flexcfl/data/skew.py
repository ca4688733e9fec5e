"""The label skew of a federation, client by client: how many examples of which label each has."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.describe import label_counts
from flexcfl.data.federation import Federation
from flexcfl.data.made import MadeLists

__all__ = ["MOST_CLIENTS", "UNKNOWN", "LabelSkew", "label_skew"]

MOST_CLIENTS = 100_000
BLOCK = 2**22  # so many counts are made at once, for of many classes most clients have none


@dataclass(frozen=True, eq=False)
class LabelSkew:
    """How many training and test examples of a label a client has, where it has any.

    Rows are by client and then by label. Every client has examples, so that there are no rows only
    where nothing is known.
    """

    client: NDArray[np.int64]
    label: NDArray[np.int64]
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def known(self) -> bool:
        """Whether there is anything to tell."""
        return len(self.client) > 0

    @property
    def columns(self) -> dict[str, NDArray[np.int64]]:
        """The arrays by their names."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


UNKNOWN = LabelSkew(*(np.empty(0, dtype=np.int64) for _ in range(4)))


def label_skew(federation: Federation) -> LabelSkew:
    """Count the labels of every client in all its data, also in those that it may use only later.

    Lists that are made on demand are not made for it, and nobody looks at the rows of more than
    ``MOST_CLIENTS``: of these nothing is known.
    """
    made = any(isinstance(lists, MadeLists) for lists in (federation.train, federation.test))
    if made or federation.clients > MOST_CLIENTS:
        return UNKNOWN
    step = max(1, BLOCK // federation.classes)
    starts = range(0, federation.clients, step)
    ends = [min(start + step, federation.clients) for start in starts]
    parts = [_counted(federation, np.arange(*each)) for each in zip(starts, ends, strict=True)]
    return LabelSkew(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _counted(
    federation: Federation, clients: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    train, test = (
        label_counts(lists.gathered(clients), federation.y, federation.classes)
        for lists in (federation.train, federation.test)
    )
    row, label = np.nonzero(train + test)
    return clients[row], label, train[row, label], test[row, label]
