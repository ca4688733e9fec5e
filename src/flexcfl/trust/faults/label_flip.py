"""``label-flip``: attackers train honestly, on labels that are wrong.

Biggio, Nelson, Laskov: Poisoning Attacks against Support Vector Machines. ICML 2012; with labels
``classes - 1 - y``, as in Fang, Cao, Jia, Gong: Local Model Poisoning Attacks to Byzantine-Robust
Federated Learning. USENIX Security 2020.
"""

from typing import Any, ClassVar

from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Order
from flexcfl.trust.faults.attack import FORBID, Attackers

__all__ = ["LabelFlip"]


@settings(frozen=True, config=FORBID)
class LabelFlip(Attackers):
    """Attackers take every label ``y`` for ``classes - 1 - y``, and send what they learn so."""

    poisons: ClassVar[bool] = True

    def altered(self, order: Order[Any], reply: Any, number: int, seed: int) -> Any:
        """Leave answers as they are: the data are false already."""
        return reply
