"""What the options of all shifts are made of."""

from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field

__all__ = ["FORBID", "Probability", "Rounds"]

FORBID = ConfigDict(extra="forbid")

Probability: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Rounds: TypeAlias = Annotated[int, Field(ge=1, le=10**9)]
