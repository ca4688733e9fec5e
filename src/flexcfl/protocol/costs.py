"""What an order costs: model transfers as the paper counts them, and bytes."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Charge: TypeAlias = Literal[
    "training",
    "cold-start",
    "directions",
    "assignment",
    "query",
    "inter-group",
    "drift",
    "evaluation",
]
"""The purpose under which the ledger books a cost."""


@dataclass(frozen=True)
class Cost:
    """Model transfers as the paper counts them, and bytes down to and up from clients."""

    transfers: int = 0
    down_bytes: int = 0
    up_bytes: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.transfers + other.transfers,
            self.down_bytes + other.down_bytes,
            self.up_bytes + other.up_bytes,
        )
