"""A round in one group by full-batch steps: its clients' models beside the virtual group model.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 4: the update of FlexCFL, the virtual group model, and Definition 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexcfl.paper.convergence.regression import Examples, Numbers, gradient, loss
from flexcfl.threads import one_thread

__all__ = ["Descent", "descend", "group_loss", "shares_of"]


@dataclass(frozen=True, eq=False)
class Descent:
    """What a group went through, one row for each local epoch from 0 on.

    ``virtual`` is the model trained on the members' data together, ``federated`` the mean of the
    clients' own models weighted by examples, ``distances`` how far each client's model is from the
    virtual one. ``deltas`` has one number for each client: the largest distance of its gradient
    from the group's, over the points that the virtual model steps from. Definition 2 asks for the
    largest over all models, but the proof of Lemma 2 uses no others than these.
    """

    virtual: Numbers
    federated: Numbers
    distances: Numbers
    deltas: Numbers


@one_thread
def descend(members: Sequence[Examples], model: Numbers, rate: float, epochs: int) -> Descent:
    """Train every member, and the virtual group model on all of their data, from one model."""
    virtual = _steps(members, model, rate, epochs)
    own = np.stack([_steps([member], model, rate, epochs) for member in members], axis=1)
    return Descent(
        virtual=virtual,
        federated=shares_of(members) @ own,
        distances=np.linalg.norm(own - virtual[:, None], axis=2),
        deltas=_deltas(members, virtual[:-1]),
    )


def shares_of(members: Sequence[Examples]) -> Numbers:
    """Return what part of a group's examples each member has: its weight in the group's loss."""
    sizes = np.array([len(member.y) for member in members])
    shares: Numbers = sizes / sizes.sum()
    return shares


def group_loss(model: Numbers, members: Sequence[Examples]) -> float:
    """Return the group's loss: its members' losses, weighted by their examples (Definition 1)."""
    return float(shares_of(members) @ [loss(model, member) for member in members])


def _steps(members: Sequence[Examples], model: Numbers, rate: float, epochs: int) -> Numbers:
    """Return where full-batch steps on members' loss lead, from the model they begin at."""
    points, shares = [model.astype(np.float64)], shares_of(members)
    for _ in range(epochs):
        points.append(points[-1] - rate * (shares @ _gradients(points[-1], members)))
    return np.stack(points)


def _deltas(members: Sequence[Examples], points: Numbers) -> Numbers:
    largest, shares = np.zeros(len(members)), shares_of(members)
    for point in points:
        gradients = _gradients(point, members)
        apart = np.linalg.norm(gradients - shares @ gradients, axis=1)
        largest = np.maximum(largest, apart)
    return largest


def _gradients(model: Numbers, members: Sequence[Examples]) -> Numbers:
    return np.stack([gradient(model, member) for member in members])
