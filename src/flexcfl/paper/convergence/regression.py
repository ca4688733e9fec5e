r"""Multinomial logistic regression in float64: loss, full-batch gradient, and how steep they are.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 4: Assumptions 1 to 3, which this model meets with constants that are known.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.protocol import Ids
from flexcfl.threads import one_thread

__all__ = ["Examples", "Numbers", "gradient", "lipschitz", "loss", "smoothness"]

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Examples:
    """What one client has: examples as rows of numbers with a 1 at their end, and their labels.

    The 1 makes the bias one more weight, so that the loss is that of a linear map alone.
    """

    x: Numbers
    y: Ids

    @classmethod
    def of(cls, x: ArrayLike, y: ArrayLike) -> "Examples":
        """Take examples of any shape, as a federation has them."""
        labels = np.asarray(y, dtype=np.int64)
        rows = np.asarray(x, dtype=np.float64).reshape(len(labels), -1)
        return cls(np.hstack([rows, np.ones((len(labels), 1))]), labels)


def loss(model: Numbers, examples: Examples) -> float:
    """Return the mean cross-entropy of a flat model: the weights, class by class, then the biases.

    That is the order of the project's flat vectors of ``mclr``.
    """
    logs = _log_probabilities(model, examples)
    return -float(logs[np.arange(len(examples.y)), examples.y].mean())


def gradient(model: Numbers, examples: Examples) -> Numbers:
    """Return the gradient of the loss over all examples, flat as the model is."""
    surplus = np.exp(_log_probabilities(model, examples))
    surplus[np.arange(len(examples.y)), examples.y] -= 1
    weights = surplus.T @ examples.x / len(examples.y)
    return np.concatenate([weights[:, :-1].ravel(), weights[:, -1]])


@one_thread
def smoothness(examples: Examples) -> float:
    r"""Return an L for Assumption 3: half the largest eigenvalue of the examples' second moment.

    The Hessian is the mean of :math:`(diag(p) - p p') \otimes x x'` with the probabilities p of an
    example. The first factor's eigenvalues are at most 1/2 (Böhning 1992), so the Hessian's are at
    most half of those of the mean of :math:`x x'`.
    """
    x = examples.x
    # The products of the shorter side have the same largest eigenvalue.
    moment = (x @ x.T if len(x) < x.shape[1] else x.T @ x) / len(x)
    return float(np.linalg.eigvalsh(moment)[-1]) / 2


def lipschitz(examples: Examples) -> float:
    r"""Return an M for Assumption 2: the mean length of the examples, times :math:`\sqrt 2`.

    An example's gradient is its x times the surplus of its probabilities over its label, and two
    points of the simplex are at most :math:`\sqrt 2` apart.
    """
    return float(np.sqrt(2) * np.linalg.norm(examples.x, axis=1).mean())


def _log_probabilities(model: Numbers, examples: Examples) -> Numbers:
    features = examples.x.shape[1] - 1
    classes = len(model) // (features + 1)
    weights = model[: classes * features].reshape(classes, features)
    logits = examples.x[:, :-1] @ weights.T + model[classes * features :]
    logits -= logits.max(axis=1, keepdims=True)
    logs: Numbers = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return logs
