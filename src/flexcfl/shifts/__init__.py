"""Distribution shifts: how the clients' data change during a run."""

from dataclasses import dataclass

from flexcfl.extensions import Registry, entry_maker
from flexcfl.shifts.holdings import Holdings, Moves
from flexcfl.shifts.incremental import Incremental, Release
from flexcfl.shifts.shift import Moment, Shift
from flexcfl.shifts.swaps import Gradual, Recurring, SwapAll, SwapPart
from flexcfl.shifts.timeline import Timeline, TimelineMemory
from flexcfl.shifts.transforms import LabelPermutation, Rotation
from flexcfl.shifts.view import DataView

__all__ = [
    "SHIFTS",
    "DataView",
    "Gradual",
    "Holdings",
    "Incremental",
    "LabelPermutation",
    "Moment",
    "Moves",
    "Recurring",
    "Release",
    "Rotation",
    "Shift",
    "ShiftEntry",
    "SwapAll",
    "SwapPart",
    "Timeline",
    "TimelineMemory",
]


@dataclass(frozen=True)
class ShiftEntry:
    """One entry of the registry; the fields of ``shift`` are its options."""

    summary: str
    shift: type[Shift]


SHIFTS = Registry(
    "shift",
    {
        "swap-all": ShiftEntry("two clients exchange all their data", SwapAll),
        "swap-part": ShiftEntry("two clients exchange a label that the other has not", SwapPart),
        "incremental": ShiftEntry("training data are released bit by bit", Incremental),
        "label-permutation": ShiftEntry("labels come to mean something else", LabelPermutation),
        "rotation": ShiftEntry("images are turned by quarter turns", Rotation),
        "gradual": ShiftEntry("two clients exchange all their data over several rounds", Gradual),
        "recurring": ShiftEntry("two clients exchange all their data, and later back", Recurring),
    },
    entry_maker(ShiftEntry, "flexcfl.shifts.SwapAll", "check", "apply", "variants"),
)
"""Every shift by its name."""
