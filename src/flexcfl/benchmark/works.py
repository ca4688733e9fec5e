"""The work that is measured: FedAvg's local training with the paper's settings.

Li et al.: Federated Optimization in Heterogeneous Networks. MLSys 2020, for the federations; Duan
et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE TPDS
2022, for K = 20, E = 10, B = 10.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flexcfl.data import Federation, load_federation
from flexcfl.data.image_datasets import MnistOptions
from flexcfl.data.images import aligned_empty
from flexcfl.data.published import CLASSES, published_mnist
from flexcfl.protocol import Local

__all__ = ["COHORT", "LOCAL", "WORKS", "Work", "noise"]

COHORT = 20
LOCAL = Local(epochs=10, batch=10, rate=0.03)


@dataclass(frozen=True)
class Work:
    """A model on a federation; ``cohort`` clients of it train in a round."""

    title: str
    dataset: str
    model: str
    cohort: int = COHORT

    def federation(self, data: Path | None) -> Federation:
        """Load the federation."""
        return load_federation(self.dataset, data)


WORKS = {
    "W1": Work("logistic regression", "mnist", "mclr"),
    "W2": Work("MLP 784-128-10", "mnist", "mlp"),
    "W3": Work("MNIST CNN", "mnist", "cnn"),
    "W5": Work("Fashion-MNIST CNN", "fashion-mnist", "cnn"),
    "W6": Work("logistic regression, Synthetic(1,1)", "synthetic", "mclr"),
}


def noise() -> Federation:
    """Return noise in the shape of MNIST over as many clients of the same sizes.

    How long a step takes does not depend on what the pixels are.
    """
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(CLASSES), 7000))
    x = aligned_empty((len(y), 1, 28, 28))
    rng.standard_normal(dtype=np.float32, out=x)
    train, test = published_mnist(y, MnistOptions().seed, classes_per_client=2)
    return Federation("mnist", x, y, train, test, CLASSES)
