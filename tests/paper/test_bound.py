"""The bound on groups that FlexCFL found: it holds, and it is told in rows and drawn."""

import csv as files
import io
import os
from pathlib import Path

import numpy as np
import pytest

from flexcfl.paper.bound import BoundMeasurement, csv, draw, measure_bound, rows, table
from flexcfl.paper.divergence import PROVED, holds

CHECKOUT = Path(__file__).parents[2]
REAL = Path(os.environ.get("FLEXCFL_DATA") or CHECKOUT.parent / "shared" / "data")


@pytest.fixture(scope="module")
def digits() -> BoundMeasurement:
    return measure_bound(None, "digits", rounds=3, clients=5, rates=(0.3, 0.01), epochs=5)


def test_the_bound_holds_in_groups_that_flexcfl_found(digits: BoundMeasurement) -> None:
    assert [each.rate for each in digits.divergences] == [0.3, 0.01]
    for each in digits.divergences:
        assert all(holds(each)[name] for name in PROVED)
        assert each.groups.shape == (6, 5)
        assert (each.clients[1:] > 0).any()


def test_a_row_tells_one_epoch_of_one_group(digits: BoundMeasurement) -> None:
    every, first = rows(digits), digits.divergences[0]
    assert [(row["rate"], row["group"], row["epoch"]) for row in every] == [
        (rate, group, epoch) for rate in (0.3, 0.01) for group in range(5) for epoch in range(6)
    ]
    row, own = every[6 + 2], first.group_of == 1
    assert row["divergence_largest"] == first.clients[2, own].max()
    mean = np.average(first.clients[2, own], weights=first.shares[own])
    assert row["divergence_mean"] == pytest.approx(mean)
    assert row["shared_bound_corrected"] == first.shared_bounds[2, 1]
    assert every[0]["ratio"] is None  # nobody has moved
    assert {type(value) for row in every for value in row.values()} == {int, float, type(None)}


def test_the_file_has_all_rows_in_full(digits: BoundMeasurement) -> None:
    head, *lines = files.reader(io.StringIO(csv(digits)))
    every = rows(digits)
    assert head == list(every[0])
    assert len(lines) == len(every)
    for line, row in zip(lines, every, strict=True):
        assert [float(cell) if cell else None for cell in line] == list(row.values())


def test_the_table_has_the_client_that_has_gone_farthest(digits: BoundMeasurement) -> None:
    found = table(digits)
    assert [(entry.block, entry.column) for entry in found.entries] == [
        ((f"rate {rate:g}",), f"e = {epoch}") for rate in (0.3, 0.01) for epoch in (1, 5)
    ]
    for entry, epoch in zip(found.entries, (1, 5, 1, 5), strict=True):
        rate = float(entry.block[0].split()[1])
        (mine,) = [each for each in digits.divergences if each.rate == rate]
        farthest = mine.clients[epoch].max()
        assert entry.ours.mean == farthest
        bounds = [figure.mean for figure in entry.further.values() if figure.mean is not None]
        assert len(bounds) >= 2
        assert min(bounds) >= farthest * (1 - 1e-9)  # which one step meets
    assert found.notes[-1].startswith("Every inequality that the proof gives holds")
    assert "measured" in found.text()


def test_the_picture_has_a_panel_for_every_rate_and_two_more(digits: BoundMeasurement) -> None:
    figure, picture = draw(digits), io.BytesIO()
    titles = [axes.get_title() for axes in figure.axes]
    assert [title for title in titles if title.endswith(("= 0.3", "= 0.01"))] == titles[:2]
    assert len(titles) == 4
    figure.savefig(picture, format="png")
    assert picture.tell() > 10_000


def test_the_same_seed_measures_the_same(digits: BoundMeasurement) -> None:
    again = measure_bound(None, "digits", rounds=3, clients=5, rates=(0.3, 0.01), epochs=5)
    assert rows(again) == rows(digits)


@pytest.mark.slow
def test_the_bound_holds_on_mnist() -> None:
    if not (REAL / "mnist").is_dir():
        pytest.skip(f"The real files are not in {REAL}; FLEXCFL_DATA can name their folder.")
    found = measure_bound(REAL, "mnist", rounds=5, rates=(0.03, 0.001), epochs=5)
    for each in found.divergences:
        assert all(holds(each)[name] for name in PROVED)
        assert each.groups.shape == (6, 3)
