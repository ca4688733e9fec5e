"""Clients whose data are written down as label counts, or drawn around the centre of each label."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from flexcfl.shifts.detection import Samples
from flexcfl.testing import detectors

Labelled: TypeAlias = Callable[..., Samples]


@pytest.fixture
def labelled() -> Labelled:
    """Return samples of clients with the given label counts, and examples that look like them."""
    return detectors.labelled
