"""The promises of every partition."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexcfl.data import PartitionEntry
from flexcfl.data.options import Partition, apply_partition
from flexcfl.errors import DataError
from flexcfl.testing.check import demand, demand_options

LABELS = np.random.default_rng(0).permutation(np.arange(600) % 10)


@dataclasses.dataclass(frozen=True)
class PartitionSubject:
    """A partition under test, with options if it has no defaults."""

    entry: PartitionEntry
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def made(self) -> Partition:
        """Make the partition."""
        return self.entry.partition(**self.options)


def _every_client_has_examples_of_its_own(subject: PartitionSubject) -> None:
    """Each client has a list that is not empty, and no example is in two lists."""
    for clients in (5, 7, 50):
        try:
            apply_partition(subject.made(), LABELS, clients, np.random.default_rng(1))
        except DataError as error:
            raise AssertionError(str(error)) from None


def _it_depends_on_labels_clients_and_draws_alone(subject: PartitionSubject) -> None:
    one, other = (
        apply_partition(subject.made(), LABELS, 7, np.random.default_rng(1)) for _ in range(2)
    )
    alike = all(map(np.array_equal, one, other))
    demand(alike, "Two partitions with the same seed differ: draw from the rng that is given.")


def _it_leaves_the_labels_alone(subject: PartitionSubject) -> None:
    """A partition must not modify the labels, which are shared."""
    labels = LABELS.copy()
    subject.made().lists(labels, 7, np.random.default_rng(1))
    demand(np.array_equal(labels, LABELS), "It has changed the labels that it was given.")


def _its_options_are_explained(subject: PartitionSubject) -> None:
    """Options have defaults and are explained."""
    if not subject.options:
        demand_options(subject.entry.partition, "[data] options")


PROMISES = (
    _every_client_has_examples_of_its_own,
    _it_depends_on_labels_clients_and_draws_alone,
    _it_leaves_the_labels_alone,
    _its_options_are_explained,
)
