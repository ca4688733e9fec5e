"""The convergence bound, beside what it bounds: MCLR by full-batch steps, in float64.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 4.
"""

from flexcfl.convergence.descent import Descent, descend, group_loss, shares_of
from flexcfl.convergence.divergence import PROVED, Divergence, kept
from flexcfl.convergence.measure import measure
from flexcfl.convergence.regression import Examples, gradient, lipschitz, loss, smoothness

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
