"""The bound on groups that FlexCFL found: it holds, and it is told in rows and drawn."""

import io
import os
from pathlib import Path

import numpy as np
import pytest

from flexcfl.convergence import PROVED, kept
from flexcfl.reproduction.bound import Measured, draw, measured, rows

CHECKOUT = Path(__file__).parents[2]
REAL = Path(os.environ.get("FLEXCFL_DATA") or CHECKOUT.parent / "shared" / "data")


@pytest.fixture(scope="module")
def digits() -> Measured:
    return measured(None, "digits", rounds=3, clients=5, rates=(0.3, 0.01), epochs=5)


def test_the_bound_holds_in_groups_that_flexcfl_found(digits: Measured) -> None:
    assert [each.rate for each in digits.divergences] == [0.3, 0.01]
    for each in digits.divergences:
        assert all(kept(each)[name] for name in PROVED)
        assert each.groups.shape == (6, 5)
        assert (each.clients[1:] > 0).any()


def test_a_row_tells_one_epoch_of_one_group(digits: Measured) -> None:
    table, first = rows(digits), digits.divergences[0]
    assert [(row["rate"], row["group"], row["epoch"]) for row in table] == [
        (rate, group, epoch) for rate in (0.3, 0.01) for group in range(5) for epoch in range(6)
    ]
    row, own = table[6 + 2], first.group_of == 1
    assert row["divergence_largest"] == first.clients[2, own].max()
    mean = np.average(first.clients[2, own], weights=first.shares[own])
    assert row["divergence_mean"] == pytest.approx(mean)
    assert row["shared_bound_corrected"] == first.shared_bounds[2, 1]
    assert table[0]["ratio"] is None  # nobody has moved
    assert {type(value) for row in table for value in row.values()} == {int, float, type(None)}


def test_the_picture_has_a_panel_for_every_rate_and_two_more(digits: Measured) -> None:
    figure, picture = draw(digits), io.BytesIO()
    titles = [axes.get_title() for axes in figure.axes]
    assert [title for title in titles if title.endswith(("= 0.3", "= 0.01"))] == titles[:2]
    assert len(titles) == 4
    figure.savefig(picture, format="png")
    assert picture.tell() > 10_000


def test_the_same_seed_measures_the_same(digits: Measured) -> None:
    again = measured(None, "digits", rounds=3, clients=5, rates=(0.3, 0.01), epochs=5)
    assert rows(again) == rows(digits)


@pytest.mark.slow
def test_the_bound_holds_on_mnist() -> None:
    if not (REAL / "mnist").is_dir():
        pytest.skip(f"The real files are not in {REAL}; FLEXCFL_DATA can name their folder.")
    found = measured(REAL, "mnist", rounds=5, rates=(0.03, 0.001), epochs=5)
    for each in found.divergences:
        assert all(kept(each)[name] for name in PROVED)
        assert each.groups.shape == (6, 3)
