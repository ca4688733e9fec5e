"""Federations of which the true groups are known: pure vectors, and clients that really train."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.data import load_federation
from flexcfl.data.client_lists import IndexLists
from flexcfl.engine import Engine
from flexcfl.models import build
from flexcfl.protocol import Ids, Local, Vectors

Examples = list[NDArray[np.int64]]


@dataclass(frozen=True)
class Constructed:
    updates: Vectors
    truth: Ids

    @property
    def groups(self) -> int:
        return int(self.truth.max()) + 1

    @property
    def clients(self) -> Ids:
        return np.arange(len(self.truth))


def truth_of(groups: int, clients: int, rng: np.random.Generator) -> Ids:
    return rng.permutation(np.arange(clients) % groups)


def noisy_vectors(groups: int, clients: int, seed: int, cosine: float = 0.3) -> Constructed:
    """One direction for each group, with noise; members of a group have this cosine on average."""
    rng = np.random.default_rng([seed, groups, clients])
    truth = truth_of(groups, clients, rng)
    means = rng.standard_normal((groups, 2000))
    noise = rng.standard_normal((clients, 2000)) * np.sqrt(1 / cosine - 1)
    lengths = rng.lognormal(0, 0.5, (clients, 1))
    return Constructed(((means[truth] + noise) * lengths).astype(np.float32), truth)


def linear_clients(groups: int, clients: int, seed: int) -> Constructed:
    """Every group labels its examples by a separate linear model; sizes differ."""
    rng = np.random.default_rng([seed, groups, clients])
    truth = truth_of(groups, clients, rng)
    sizes = rng.lognormal(3.5, 0.5, clients).astype(int) + 10
    x = rng.standard_normal((sizes.sum(), 30)).astype(np.float32)
    weights = rng.standard_normal((groups, 30, 10))
    examples = np.split(np.arange(len(x)), np.cumsum(sizes)[:-1])
    y = np.concatenate(
        [(x[own] @ weights[group]).argmax(1) for own, group in zip(examples, truth, strict=True)]
    )
    return Constructed(_trained(x, y, examples, "synthetic", seed), truth)


def permuted_digits(groups: int, clients: int, seed: int) -> Constructed:
    """Every group gives the ten digits other names, and no two give any digit the same one."""
    rng = np.random.default_rng([seed, groups, clients])
    truth = truth_of(groups, clients, rng)
    pool = load_federation("digits", partition="iid", clients=1)
    names = rng.permutation(10)
    x = np.tile(pool.x, (groups, 1, 1, 1))
    y = np.concatenate([(names[pool.y] + group) % 10 for group in range(groups)])
    sizes = rng.integers(15, 40, clients)
    examples = [
        group * len(pool.x) + rng.choice(len(pool.x), size, replace=False)
        for group, size in zip(truth, sizes, strict=True)
    ]
    return Constructed(_trained(x, y, examples, "digits", seed), truth)


def _trained(
    x: NDArray[np.float32], y: Ids, examples: Examples, dataset: str, seed: int
) -> Vectors:
    """Pre-train all clients from one origin, as founders do."""
    engine = Engine(lambda: build(dataset, "mclr", x.shape[1:], 10), x, y, 10)
    origin = engine.initial(np.random.default_rng(seed))
    rngs = [np.random.default_rng([seed, client]) for client in range(len(examples))]
    model_of = np.zeros(len(examples), dtype=np.int64)
    local = Local(steps=50, rate=0.03)
    return engine.train(origin[None], model_of, IndexLists.of(examples), local, rngs)[0]
