"""What the options of all algorithms are made of."""

from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

__all__ = ["FORBID", "Count", "Groups", "NoOptions"]

FORBID = ConfigDict(extra="forbid")

Count: TypeAlias = Annotated[int, Field(ge=1, le=10**9)]
Groups: TypeAlias = Annotated[int, Field(ge=1, le=10**4)]


@settings(frozen=True, config=FORBID)
class NoOptions:
    """The options of an algorithm that has none."""
