"""FedProx: FedAvg whose clients are held near the model they received.

Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith: Federated Optimization in Heterogeneous Networks.
MLSys 2020, Algorithm 2.
"""

from flexcfl.algorithms.fedavg import FedAvg
from flexcfl.protocol import Local


def fedprox(local: Local) -> FedAvg:
    r"""Return FedAvg over clients that train with a proximal term.

    Clients minimise :math:`F_k(v) + \frac{\mu}{2} \lVert v - w \rVert^2` from the model :math:`w`
    that they received, with :math:`\mu` = ``local.prox``. The server is that of FedAvg, and
    :math:`\mu = 0` is FedAvg itself.

    >>> fedprox(Local(prox=1.0))
    FedAvg(local=Local(epochs=10, steps=None, batch=10, rate=0.03, l2=0.0, prox=1.0), rule=Mean())
    """
    return FedAvg(local)
