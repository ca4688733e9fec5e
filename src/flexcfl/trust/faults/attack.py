"""What an attack is: clients that know what they do, and what they make of their answers."""

from typing import Annotated, Any, ClassVar, Protocol

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Order

__all__ = ["FORBID", "Attack", "Attackers", "Scale", "of_share"]

FORBID = ConfigDict(extra="forbid")
SHARE = 0.2  # of the clients, where nothing else is said

Share = Annotated[float, Field(ge=0, le=1)]
# The upper bound keeps a sensible update within float32.
Scale = Annotated[float, Field(gt=0, le=1e6)]


class Attack(Protocol):
    """Clients that alter what they send.

    Where ``poisons`` is set, attackers train on labels ``classes - 1 - y``, of which whoever
    simulates them takes care.
    """

    poisons: ClassVar[bool]

    def number(self, clients: int) -> int:
        """Return how many of so many clients attack."""
        ...

    def altered(self, order: Order[Any], reply: Any, number: int, seed: int) -> Any:
        """Return what attackers send for what they would honestly answer in round ``number``.

        The reply is that of attackers alone, all of those that answer this order. It must not be
        changed but replaced, by one of the same clients and shapes, or handed back as it is. What
        is drawn must depend on the seed, the round and the client, not on earlier calls.
        """
        ...


@settings(frozen=True, config=FORBID)
class Attackers:
    """How many attack: a ``share`` of the clients, a fifth by default, or so many ``clients``."""

    share: Share | None = None
    clients: Annotated[int, Field(ge=0, le=10**9)] | None = None

    def __post_init__(self) -> None:
        """Refuse to be told twice, and say what is meant where nothing is told."""
        if self.share is not None and self.clients is not None:
            raise ValueError(
                f"share {self.share:g} and clients {self.clients} both say how many attack: "
                "give only one of them."
            )
        if self.share is None and self.clients is None:
            object.__setattr__(self, "share", SHARE)

    def number(self, clients: int) -> int:
        """Return how many of so many clients attack."""
        return of_share(self.share, clients) if self.share is not None else self.clients or 0


def of_share(share: float, clients: int) -> int:
    """Return how many clients a share is: the nearest number, but somebody if it is not zero.

    >>> of_share(0.1, 26), of_share(0.1, 2), of_share(0.0, 2)
    (3, 1, 0)
    """
    return max(int(share > 0), int(share * clients + 0.5))
