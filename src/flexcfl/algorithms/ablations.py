"""FlexCFL without one of its ideas, to measure what that idea contributes.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 5.2 (RCC and RAC in Table 3).
"""

from flexcfl.algorithms.flexcfl import FlexCFL
from flexcfl.algorithms.flexcfl_options import FlexcflOptions, RccOptions
from flexcfl.protocol import Local


def random_centres(local: Local, options: RccOptions) -> FlexCFL:
    """Return FlexCFL-RCC: random clients are the centres of the groups, without clustering.

    All other clients are placed by Equation 8.
    """
    return FlexCFL(local, options)


def random_assignment(local: Local, options: FlexcflOptions) -> FlexCFL:
    """Return FlexCFL-RAC: founders keep their groups, all others are placed at random.

    Drifted clients are placed at random, too, because a migration repeats the cold start.
    """
    return FlexCFL(local, options, placement="random")
