"""The convergence bound, beside what it bounds: MCLR by full-batch steps, in float64.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 4.
"""

from flexcfl.paper.convergence.descent import Descent, descend, group_loss, shares_of
from flexcfl.paper.convergence.divergence import PROVED, Divergence, kept
from flexcfl.paper.convergence.measure import measure
from flexcfl.paper.convergence.regression import Examples, gradient, lipschitz, loss, smoothness

__all__ = [
    "PROVED",
    "Descent",
    "Divergence",
    "Examples",
    "descend",
    "gradient",
    "group_loss",
    "kept",
    "lipschitz",
    "loss",
    "measure",
    "shares_of",
    "smoothness",
]
