"""Item 1 of the published code's defects: what it misses and raises, and what ours does instead."""

import numpy as np

from flexcfl.shifts.detection import LabelShare, WassersteinCounts
from flexcfl.testing.detectors import labelled

PUBLISHED, OURS = WassersteinCounts(), LabelShare()


def verdict(
    detector: LabelShare | WassersteinCounts, kept: list[int], now: list[int], first: int = 300
) -> bool:
    profiles = (detector.profiles(labelled([counts], [first])) for counts in (kept, now))
    return bool(detector.drifted(*profiles)[0])


def test_moving_100_images_from_label_0_to_label_2_is_seen() -> None:
    kept, now = [100, 200, 0], [0, 200, 100]
    before, after = (PUBLISHED.profiles(labelled([counts])) for counts in (kept, now))
    assert np.array_equal(before, after)  # the published distance is 0, under any threshold
    assert not verdict(PUBLISHED, kept, now)
    assert verdict(OURS, kept, now)


def test_a_shift_that_only_permutes_labels_is_seen() -> None:
    kept, now = [10, 40, 250], [250, 10, 40]
    assert not verdict(WassersteinCounts(fraction=0.0), kept, now)
    assert verdict(OURS, kept, now)


def test_pure_growth_is_no_drift() -> None:
    kept = [25, 50, 0]
    for factor in (2, 3, 4):  # half, three quarters and all of what began as a quarter
        now = [factor * count for count in kept]
        assert verdict(PUBLISHED, kept, now, first=75)
        assert not verdict(OURS, kept, now, first=75)


def test_the_threshold_follows_the_data() -> None:
    kept, now = [1000, 1000], [1070, 930]  # 3.5 % of the data have changed
    assert verdict(PUBLISHED, kept, now, first=100)
    assert not verdict(PUBLISHED, kept, now, first=2000)
    for first in (100, 2000):
        assert not verdict(OURS, kept, now, first)
