"""FedGroup: FlexCFL without migration; clients stay in the group that they found first.

Duan, Liu, Ji, Liu, Liang, Chen, Tan: FedGroup: Efficient Clustered Federated Learning via
Decomposed Data-Driven Measure. arXiv 2010.06870, 2020; a version of it at ISPA 2021.
"""

from flexcfl.algorithms.flexcfl import FlexCFL
from flexcfl.algorithms.flexcfl_options import FlexcflOptions
from flexcfl.protocol import Local


def fedgroup(local: Local, options: FlexcflOptions) -> FlexCFL:
    """Return FlexCFL whose clients are placed once.

    If no client's data change, no client migrates and the two are the same.
    """
    return FlexCFL(local, options, migrates=False)
