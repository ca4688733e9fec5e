"""A curve on one line."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.report.history.details_view import BLOCKS, PLAIN, sparkline


@given(st.lists(st.floats(0, 1) | st.just(float("nan")), max_size=200), st.integers(1, 50))
def test_it_is_never_wider_than_it_may_be_and_has_its_extremes(
    values: list[float], width: int
) -> None:
    line = sparkline(np.array(values, dtype=np.float64), width)
    assert len(line) <= min(width, len(values))
    assert set(line) <= {*BLOCKS, " "}
    assert not line.strip() or BLOCKS[-1] in line
    plain = sparkline(np.array(values, dtype=np.float64), width, ascii_only=True)
    assert plain.isascii()
    assert plain == line.translate(str.maketrans(BLOCKS, PLAIN))


def test_what_rises_rises() -> None:
    assert sparkline(np.linspace(0, 1, 8), 8) == BLOCKS
    assert sparkline(np.linspace(0, 1, 80), 8) == BLOCKS
    assert sparkline(np.array([0.5, 0.5]), 8) == BLOCKS[-1] * 2
    assert sparkline(np.array([]), 8) == ""
