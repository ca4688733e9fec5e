"""What every detector of the registry promises, whatever it looks at."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import flexcfl.shifts.detection
from flexcfl.errors import SettingsError
from flexcfl.settings import validated
from flexcfl.shifts.detection import DETECTORS, Detector
from flexcfl.testing import checks
from flexcfl.testing.detectors import labelled

tables = arrays(np.int64, (4, 3), elements=st.integers(0, 12))
any_counts = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=sorted(DETECTORS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def detector(name: str) -> Detector:
    return DETECTORS[name].detector()


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_it_keeps_what_every_detector_promises(name: str) -> None:
    for check in checks("detector", name):
        check()


@given(counts=tables)
@any_counts
def test_identical_data_never_drift(detector: Detector, counts: NDArray[np.int64]) -> None:
    kept, now = (detector.profiles(labelled(counts)) for _ in range(2))
    assert np.array_equal(kept, now)
    assert not detector.drifted(kept, now).any()


@given(kept=tables, now=tables)
@any_counts
def test_every_client_is_judged_by_its_own_data_alone(
    detector: Detector, kept: NDArray[np.int64], now: NDArray[np.int64]
) -> None:
    sides = [detector.profiles(labelled(counts, [20] * 4)) for counts in (kept, now)]
    verdicts = detector.drifted(*sides)
    assert verdicts.dtype == np.bool_
    assert verdicts.shape == (4,)
    assert all(side.dtype == np.float64 and np.isfinite(side).all() for side in sides)
    assert [bool(detector.drifted(*(s[[i]] for s in sides))[0]) for i in range(4)] == list(verdicts)


def test_it_sees_a_change_of_everything(name: str, detector: Detector) -> None:
    kept, now = (detector.profiles(labelled([row])) for row in ([30, 10, 0], [0, 5, 35]))
    if name == "wasserstein-counts":
        now = detector.profiles(labelled([[20, 20, 0]]))  # it must not be one in sorted counts
    assert detector.drifted(kept, now).all()


def test_options_out_of_range_and_unknown_ones_are_told_in_a_sentence(name: str) -> None:
    options: Any = DETECTORS[name].detector
    for item in dataclasses.fields(options):
        with pytest.raises(SettingsError, match=rf"^\[drift\] {item.name} must be .*not -1\.$"):
            validated(options, {item.name: -1}, "[drift]")
    with pytest.raises(SettingsError, match="has no setting 'colour'"):
        validated(options, {"colour": 1}, "[drift]")


def test_every_entry_says_what_it_is(name: str) -> None:
    summary = DETECTORS[name].summary
    assert summary
    assert not summary.endswith(".")
    assert DETECTORS[name].detector.__name__ in flexcfl.shifts.detection.__all__
