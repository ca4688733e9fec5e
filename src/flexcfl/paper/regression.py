r"""Multinomial logistic regression in float64, trained in groups by full-batch steps.

It meets Assumptions 1 to 3 of Section 4 with known constants. FlexCFL's update, the virtual group
model and Definition 2 are those of Section 4 as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.protocol import Ids
from flexcfl.threads import one_thread

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClientExamples:
    """The examples of a client, as rows of numbers that end with a 1, and their labels.

    The 1 turns the bias into a weight, so that the model is a linear map.
    """

    x: Numbers
    y: Ids

    @classmethod
    def of(cls, x: ArrayLike, y: ArrayLike) -> "ClientExamples":
        """Return the examples of a federation, which can have any shape."""
        labels = np.asarray(y, dtype=np.int64)
        rows = np.asarray(x, dtype=np.float64).reshape(len(labels), -1)
        return cls(np.hstack([rows, np.ones((len(labels), 1))]), labels)


@dataclass(frozen=True, eq=False)
class Descent:
    """A group's models in a round, one row for each local epoch from 0 on.

    ``virtual`` is the model trained on the pooled data of the members, ``federated`` the mean of
    the clients' own models weighted by examples, ``distances`` the distance of each client's model
    from the virtual one. ``deltas`` has one number for each client: the largest distance of its
    gradient from the group's, over the points that the virtual model steps from. Definition 2
    requires the largest over all models, but the proof of Lemma 2 uses only these.
    """

    virtual: Numbers
    federated: Numbers
    distances: Numbers
    deltas: Numbers


@one_thread
def descend(members: Sequence[ClientExamples], model: Numbers, rate: float, epochs: int) -> Descent:
    """Train every member, and the virtual group model on their pooled data, from the same model."""
    virtual = _steps(members, model, rate, epochs)
    own = np.stack([_steps([member], model, rate, epochs) for member in members], axis=1)
    return Descent(
        virtual=virtual,
        federated=shares_of(members) @ own,
        distances=np.linalg.norm(own - virtual[:, None], axis=2),
        deltas=_deltas(members, virtual[:-1]),
    )


def shares_of(members: Sequence[ClientExamples]) -> Numbers:
    """Return each member's fraction of the group's examples: its weight in the group's loss."""
    sizes = np.array([len(member.y) for member in members])
    shares: Numbers = sizes / sizes.sum()
    return shares


def group_loss(model: Numbers, members: Sequence[ClientExamples]) -> float:
    """Return the group's loss: its members' losses, weighted by their examples (Definition 1)."""
    return float(shares_of(members) @ [loss(model, member) for member in members])


def _steps(members: Sequence[ClientExamples], model: Numbers, rate: float, epochs: int) -> Numbers:
    """Return the models before and after each full-batch step on the members' loss."""
    points, shares = [model.astype(np.float64)], shares_of(members)
    for _ in range(epochs):
        points.append(points[-1] - rate * (shares @ _gradients(points[-1], members)))
    return np.stack(points)


def _deltas(members: Sequence[ClientExamples], points: Numbers) -> Numbers:
    shares, gradients = shares_of(members), (_gradients(point, members) for point in points)
    apart = [np.linalg.norm(each - shares @ each, axis=1) for each in gradients]
    deltas: Numbers = np.max(apart, axis=0)
    return deltas


def _gradients(model: Numbers, members: Sequence[ClientExamples]) -> Numbers:
    return np.stack([gradient(model, member) for member in members])


def loss(model: Numbers, examples: ClientExamples) -> float:
    """Return the mean cross-entropy of a flat model: the weights, class by class, then the biases.

    The flat vectors of ``mclr`` have the same order.
    """
    logs = _log_probabilities(model, examples)
    return -float(logs[np.arange(len(examples.y)), examples.y].mean())


def gradient(model: Numbers, examples: ClientExamples) -> Numbers:
    """Return the gradient of the loss over all examples, flat like the model."""
    surplus = np.exp(_log_probabilities(model, examples))
    surplus[np.arange(len(examples.y)), examples.y] -= 1
    weights = surplus.T @ examples.x / len(examples.y)
    return np.concatenate([weights[:, :-1].ravel(), weights[:, -1]])


@one_thread
def smoothness(examples: ClientExamples) -> float:
    r"""Return an L for Assumption 3: half the largest eigenvalue of the examples' second moment.

    The Hessian is the mean of :math:`(diag(p) - p p') \otimes x x'` with the probabilities p of an
    example. The first factor's eigenvalues are at most 1/2 (Böhning 1992), so the Hessian's are at
    most half of those of the mean of :math:`x x'`.
    """
    x = examples.x
    # The products of the shorter side have the same largest eigenvalue.
    moment = (x @ x.T if len(x) < x.shape[1] else x.T @ x) / len(x)
    return float(np.linalg.eigvalsh(moment)[-1]) / 2


def lipschitz(examples: ClientExamples) -> float:
    r"""Return an M for Assumption 2: the mean length of the examples, times :math:`\sqrt 2`.

    An example's gradient is its x times the difference of its probabilities and its label, and two
    points of the simplex are at most :math:`\sqrt 2` apart.
    """
    return float(np.sqrt(2) * np.linalg.norm(examples.x, axis=1).mean())


def _log_probabilities(model: Numbers, examples: ClientExamples) -> Numbers:
    features = examples.x.shape[1] - 1
    classes = len(model) // (features + 1)
    weights = model[: classes * features].reshape(classes, features)
    logits = examples.x[:, :-1] @ weights.T + model[classes * features :]
    logits -= logits.max(axis=1, keepdims=True)
    logs: Numbers = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return logs
