"""Attacks: what hostile clients send in place of their honest answers.

``SignFlip``: Li, Xu, Chen, Giannakis, Ling: RSA: Byzantine-Robust Stochastic Aggregation Methods
for Distributed Learning from Heterogeneous Datasets. AAAI 2019.

``Noise``: Blanchard, El Mhamdi, Guerraoui, Stainer: Machine Learning with Adversaries: Byzantine
Tolerant Gradient Descent. NeurIPS 2017.

``LabelFlip``: Biggio, Nelson, Laskov: Poisoning Attacks against Support Vector Machines. ICML 2012;
with labels ``classes - 1 - y``, as in Fang, Cao, Jia, Gong: Local Model Poisoning Attacks to
Byzantine-Robust Federated Learning. USENIX Security 2020.

``Drag`` attacks clustered learning itself: a minority of all clients may be the majority of a small
group, if the group accepts every client that claims to belong to it.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl import seeds
from flexcfl.aggregation import norms
from flexcfl.protocol import Order, Vector, Vectors

FORBID = ConfigDict(extra="forbid")
SHARE = 0.2  # the default share of clients that attack

Share = Annotated[float, Field(ge=0, le=1)]
# The upper bound keeps a sensible update within float32.
Scale = Annotated[float, Field(gt=0, le=1e6)]


class Attack(Protocol):
    """Clients that alter what they send.

    If ``poisons`` is set, the simulation trains attackers on labels ``classes - 1 - y``.
    """

    poisons: ClassVar[bool]

    def number(self, clients: int) -> int:
        """Return how many of the clients attack."""
        ...

    def altered(self, order: Order[Any], reply: Any, number: int, seed: int) -> Any:
        """Return what attackers send in round ``number`` in place of their honest reply.

        The reply contains all attackers that answer this order, and no other client. Return it or a
        new one with the same clients and shapes; do not change it. Draws must depend on the seed,
        the round and the client, not on earlier calls.
        """
        ...


@settings(frozen=True, config=FORBID)
class Attackers:
    """The number of attackers: a ``share`` of the clients, by default 0.2, or ``clients``."""

    poisons: ClassVar[bool] = False
    share: Share | None = None
    clients: Annotated[int, Field(ge=0, le=10**9)] | None = None

    def __post_init__(self) -> None:
        """Refuse both settings together, and set the default share where neither is given."""
        if self.share is not None and self.clients is not None:
            raise ValueError(
                f"share {self.share:g} and clients {self.clients} both say how many attack: "
                "give only one of them."
            )
        if self.share is None and self.clients is None:
            object.__setattr__(self, "share", SHARE)

    def number(self, clients: int) -> int:
        """Return how many of the clients attack."""
        return of_share(self.share, clients) if self.share is not None else self.clients or 0


def of_share(share: float, clients: int) -> int:
    """Return a share as a number of clients: rounded, but at least one unless the share is zero.

    >>> of_share(0.1, 26), of_share(0.1, 2), of_share(0.0, 2)
    (3, 1, 0)
    """
    return max(int(share > 0), int(share * clients + 0.5))


@settings(frozen=True, config=FORBID)
class SignFlip(Attackers):
    r"""Attackers send :math:`-s \Delta` for their update :math:`\Delta`, ``scale`` being :math:`s`.

    A share :math:`f` of attackers reverses the mean step if :math:`s > (1 - f) / f`, which is 4 for
    a fifth; below, averaging only gets slower. With the default of 10, plain averaging learns next
    to nothing, in its best round as in its last.
    """

    scale: Scale = 10.0

    def altered(self, order: Order[Any], reply: Any, number: int, seed: int) -> Any:
        """Reverse the updates."""
        if not order.brings_updates:
            return reply
        with np.errstate(over="ignore"):  # numbers beyond float32 are sent as infinity
            return replace(reply, updates=reply.updates * np.float32(-self.scale))


@settings(frozen=True, config=FORBID)
class Noise(Attackers):
    """Attackers send random noise, about ``scale`` times as long as their update.

    The length is relative to the update, so that one setting fits all models and rates.
    """

    scale: Scale = 10.0

    def altered(self, order: Any, reply: Any, number: int, seed: int) -> Any:
        """Replace updates by noise."""
        if not order.brings_updates:
            return reply
        updates = np.empty_like(reply.updates)
        deviations = self.scale * norms(reply.updates) / np.sqrt(updates.shape[1])
        for row, own in enumerate(order.draws(reply.clients)):
            rng = seeds.generator(seed, f"noise {order.purpose}", number, *own)
            rng.standard_normal(out=updates[row], dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # of updates that are not finite
            updates *= deviations[:, np.newaxis].astype(np.float32)
        return replace(reply, updates=updates)


@settings(frozen=True, config=FORBID)
class LabelFlip(Attackers):
    """Attackers train on labels ``classes - 1 - y`` instead of ``y``, and send these updates."""

    poisons: ClassVar[bool] = True

    def altered(self, order: Order[Any], reply: Any, number: int, seed: int) -> Any:
        """Return the reply unchanged, because the data are already false."""
        return reply


@settings(frozen=True, config=FORBID)
class Drag(Attackers):
    """Attackers claim to belong to ``group``, and push its model into one common direction.

    They name that group, modulo the number of groups, whenever they choose one. As founders of
    groups, all send the update of the first of them, so that they are clustered together. When they
    train, their updates point in a direction that is drawn once, and are ``scale`` times as long as
    their honest ones.
    """

    group: Annotated[int, Field(ge=0, le=10**9)] = 0
    scale: Scale = 10.0

    def altered(self, order: Order[Any], reply: Any, number: int, seed: int) -> Any:
        """Claim the group, send equal updates as founders, and push the model."""
        if order.brings_updates and order.purpose == "cold-start":
            alike = np.repeat(reply.updates[:1], len(reply.clients), axis=0)
            return replace(reply, updates=alike)
        changed: dict[str, Any] = {}
        if order.brings_updates:
            changed["updates"] = self._pushed(reply.updates, seed)
        if order.choices is not None:  # clients do not choose otherwise
            name = "group_of" if hasattr(reply, "group_of") else "model_of"
            changed[name] = np.full_like(getattr(reply, name), self.group % order.choices)
        return replace(reply, **changed) if changed else reply

    def _pushed(self, updates: Vectors, seed: int) -> Vectors:
        lengths = (self.scale * norms(updates))[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):  # of updates that are not finite
            return np.asarray(lengths.astype(np.float32) * _direction(seed, updates.shape[1]))


@lru_cache(maxsize=1)
def _direction(seed: int, parameters: int) -> Vector:
    """Return the unit vector in whose direction all attackers of a run push, in every round."""
    direction = seeds.generator(seed, "drag").standard_normal(parameters)
    # NumPy's own sum does not depend on BLAS threads.
    return np.asarray(direction / np.sqrt(np.square(direction).sum()), dtype=np.float32)
