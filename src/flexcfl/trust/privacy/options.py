"""The settings of differential privacy."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.errors import SettingsError

__all__ = ["Privacy"]

Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
Factor = Annotated[float, Field(ge=1e-6, le=1e12, allow_inf_nan=False)]


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Privacy:
    """Whether updates are clipped and noised, where, and how much.

    With ``level`` ``client`` every client shortens its update to the length ``clip`` and adds
    Gaussian noise of standard deviation ``noise * clip`` to each number before it leaves the
    client, whose server need not be trusted. With ``group`` the server shortens them and adds that
    noise once to the sum of each group, and everybody counts the same. ``delta`` is that of
    (epsilon, delta), None for one over the number of clients. ``epsilon`` is a budget: a client
    that would exceed it with another update stays silent from then on; None for no limit.
    """

    level: Literal["none", "client", "group"] = "none"
    clip: Factor = 1.0
    noise: Factor = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    epsilon: Positive | None = None

    def delta_for(self, clients: int) -> float:
        """Return the delta of a federation of so many clients."""
        if self.delta is None and clients < 2:
            raise SettingsError(
                "[privacy] delta must be given where there is only one client: one over the "
                "number of clients would promise nothing."
            )
        return 1 / clients if self.delta is None else self.delta
