"""The settings of the server's guards."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

__all__ = ["Guards"]

Factor = Annotated[float, Field(ge=1, le=1e12, allow_inf_nan=False)]
Cosine = Annotated[float, Field(ge=-1, le=1)]


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Guards:
    """What the server accepts beyond what it always asks for.

    It always asks for finite numbers of the right shape, for the order of this round. An update
    longer than ``norm_bound`` times the median length of those that came with it (or a hundredth
    of the model's, if that is more; of one or two: the model's) is rejected, or shortened to that,
    as ``norm_action`` says.
    Founders of groups whose update has a cosine below ``founder_cosine`` to the geometric median of
    the others' directions are not admitted, so that a minority that points elsewhere founds no
    group. Either may be ``none``.
    """

    norm_bound: Factor | Literal["none"] = 100.0
    norm_action: Literal["reject", "clip"] = "reject"
    founder_cosine: Cosine | Literal["none"] = "none"
