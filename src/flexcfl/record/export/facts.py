"""What a card tells of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from flexcfl.record.summary import Summary

__all__ = ["Facts", "Group"]


@dataclass(frozen=True)
class Group:
    """One model: the numbers of its clients, and its accuracy on them where that was measured.

    One that is ``waiting`` is no group, but serves clients until they follow those of a group that
    was divided.
    """

    number: int
    file: str
    clients: tuple[int, ...]
    accuracy: float | None
    waiting: bool = False


@dataclass(frozen=True)
class Facts:
    """All that there is to tell of a run whose models are taken away.

    ``summary`` is its ``summary.json`` and ``settings`` the text of its experiment, which was
    started by a ``command``. ``folder`` is the name of its folder, where it has one. ``module`` is
    Python that makes the module, with torch alone, where that is known.
    """

    summary: Summary
    settings: str
    command: str
    groups: Sequence[Group]
    auxiliary: str | None
    names: Sequence[str] = ()
    folder: str | None = None
    module: str | None = None
