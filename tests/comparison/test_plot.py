"""The picture: readable as XML, the same every time, drawn whatever is missing."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.comparison import Comparison, plot
from flexcfl.comparison.messages import Done
from flexcfl.comparison.plot import apart
from flexcfl.report.charts.palette import COLOURS


@pytest.mark.slow
def test_the_same_comparison_gives_the_same_picture(comparison: Comparison) -> None:
    one, two = plot.svg(comparison, "digits"), plot.svg(comparison, "digits")
    assert one == two
    assert b"<dc:date>" not in one
    other = {**comparison.curves, "fedavg": comparison.curves["fedavg"] / 2}
    assert one != plot.svg(replace(comparison, curves=other), "digits")


def test_it_is_as_wide_as_a_page_and_has_a_colour_for_each_algorithm(
    comparison: Comparison,
) -> None:
    picture = plot.svg(comparison, "digits")
    width = float(ET.fromstring(picture).attrib["width"].removesuffix("pt")) * 96 / 72
    assert width == pytest.approx(900, rel=0.01)
    for colour in COLOURS[:3]:
        assert colour.lower().encode() in picture
    assert COLOURS[3].lower().encode() not in picture


def test_what_was_not_measured_is_left_out(summary: Callable[..., Any]) -> None:
    nothing = Comparison.of({"ifca": [Done(summary("ifca", 0, None), np.full(4, np.nan))]})
    picture = plot.svg(nothing, "nothing")
    ET.fromstring(picture)
    assert b"no round was measured" in picture
    assert COLOURS[0].lower().encode() not in picture


def test_one_round_of_one_seed_is_drawn(summary: Callable[..., Any]) -> None:
    one = Comparison.of({"ifca": [Done(summary("ifca", 0, 0.5), np.array([0.5]))]})
    picture = plot.svg(one, "one")
    ET.fromstring(picture)
    assert b"one seed" in picture
    assert COLOURS[0].lower().encode() in picture


def test_there_are_looks_for_more_algorithms_than_colours() -> None:
    names = [f"algorithm {number}" for number in range(21)]
    assert len(set(plot._looks(names).values())) == 21


POINTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=12)


@given(POINTS)
def test_labels_are_moved_apart_below_the_top_and_keep_their_order(
    points: list[tuple[float, float]],
) -> None:
    moved = apart(points, gap=0.06, reach=0.3)
    assert all(height <= 0.97 for height in moved)
    for ((x, y), height), ((other_x, other_y), other) in combinations(
        zip(points, moved, strict=True), 2
    ):
        if abs(x - other_x) < 0.3:
            assert abs(height - other) >= 0.06 - 1e-9
            assert y == other_y or (y < other_y) == (height < other)


def test_labels_with_room_stay_where_they_are() -> None:
    assert apart([(0, 0.2), (0, 0.8), (0.9, 0.8)], gap=0.1, reach=0.3) == [0.2, 0.8, 0.8]


def test_only_who_draws_waits_for_the_library() -> None:
    program = (
        "import sys, flexcfl.comparison; assert not {'matplotlib', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
