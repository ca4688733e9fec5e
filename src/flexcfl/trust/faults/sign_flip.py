"""``sign-flip``: attackers send the opposite of what they have learnt.

Li, Xu, Chen, Giannakis, Ling: RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed
Learning from Heterogeneous Datasets. AAAI 2019.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Order
from flexcfl.trust.faults.attack import FORBID, Attackers, Scale

__all__ = ["SignFlip"]


@settings(frozen=True, config=FORBID)
class SignFlip(Attackers):
    r"""Attackers send :math:`-s \Delta` for their update :math:`\Delta`, ``scale`` being :math:`s`.

    A share :math:`f` of them turns a mean step around from :math:`s = (1 - f) / f` on, which is 4
    for a fifth; below, averaging is only slower. With the default of 10 next to nothing is left of
    what plain averaging learns, in its best round as in its last.
    """

    poisons: ClassVar[bool] = False
    scale: Scale = 10.0

    def altered(self, order: Order[Any], reply: Any, number: int, seed: int) -> Any:
        """Turn updates around."""
        if not order.brings_updates:
            return reply
        with np.errstate(over="ignore"):  # what is beyond float32 is sent as infinity
            return replace(reply, updates=reply.updates * np.float32(-self.scale))
