"""Drift detection: rules that a client applies to its own data, and what it remembers for them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flexcfl.extensions import Registry, entry_maker
from flexcfl.shifts.detection.detector import Detector, Samples, Watch, WatchMemory
from flexcfl.shifts.detection.label_counts import LabelShare, Wasserstein, WassersteinCounts
from flexcfl.shifts.detection.mmd import MMD

__all__ = [
    "DETECTORS",
    "MMD",
    "Detector",
    "DetectorEntry",
    "LabelShare",
    "Samples",
    "Wasserstein",
    "WassersteinCounts",
    "Watch",
    "WatchMemory",
]


@dataclass(frozen=True)
class DetectorEntry:
    """One entry of the registry: a summary, and the class whose fields are the detector's options.

    ``numbers(detector, classes)`` is the count of numbers that a client keeps, by default one for
    each class.
    """

    summary: str
    detector: type[Detector]
    numbers: Callable[[Any, int], int] = lambda _, classes: classes


DETECTORS = Registry(
    "detector",
    {
        "label-share": DetectorEntry(
            "label proportions changed by more than a fraction, and more than chance explains",
            LabelShare,
        ),
        "wasserstein": DetectorEntry("label proportions moved far on the label axis", Wasserstein),
        "wasserstein-counts": DetectorEntry(
            "the released code's rule on sorted label counts, kept to show what it misses",
            WassersteinCounts,
            numbers=lambda _, classes: classes + 1,
        ),
        "mmd": DetectorEntry(
            "examples of the same label look different, or the labels are others",
            MMD,
            numbers=lambda mmd, classes: classes * (mmd.features + 2) + 1,
        ),
    },
    entry_maker(DetectorEntry, "flexcfl.shifts.detection.LabelShare", "profiles", "drifted"),
)
"""Every detector by its name."""
