"""A custom partition: shards of a pool that is sorted by label (McMahan et al., 2017)."""

from dataclasses import dataclass

import numpy as np

from flexcfl.data.partition import Indices


@dataclass(frozen=True)
class Shards:
    """Sort the pool by label, cut it into shards, and give each client ``each`` of them."""

    each: int = 2

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        order = np.argsort(labels, kind="stable")
        shards = np.array_split(order, clients * self.each)
        drawn = rng.permutation(len(shards)).reshape(clients, self.each)
        return [np.concatenate([shards[number] for number in own]) for own in drawn]
