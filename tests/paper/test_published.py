"""The paper's numbers: some read again from the page, and what it says of them itself."""

from statistics import fmean

import pytest

from flexcfl.paper.catalogue import CLASSES, METHODS, ROWS, SHIFTS
from flexcfl.paper.published import (
    ACCURACY,
    MOTIVATION,
    SIZES,
    TRANSFERS,
    UNDER_SHIFT,
    accuracy,
)


@pytest.mark.parametrize(
    ("row", "method", "shift", "figure"),
    [
        ("mnist-mclr", "fedavg", "none", 89.4),
        ("mnist-mclr", "flexcfl", "none", 95.8),
        ("mnist-cnn", "flexcfl-eta0.1", "none", 98.8),
        ("femnist-mlp", "flexcfl-rcc", "none", 93.9),
        ("femnist-cnn", "fesem", "none", 57.3),
        ("synthetic-mclr", "ifca", "none", 91.3),
        ("synthetic-mclr", "flexcfl-rac", "none", None),
        ("fashion-mnist-cnn", "fedprox", "none", 89.1),
        ("mnist-mclr", "ifca", "swap-all", 64.5),
        ("mnist-mclr", "flexcfl", "swap-part", 91.7),
        ("femnist-mlp", "flexcfl-eta5", "swap-part", 81.5),
        ("femnist-cnn", "fesem", "incremental", 19.8),
        ("synthetic-mclr", "fedgroup", "swap-all", 84.4),
        ("fashion-mnist-cnn", "flexcfl", "incremental", 88.7),
    ],
)
def test_tables_3_and_4(row: str, method: str, shift: str, figure: float | None) -> None:
    assert accuracy(row, method, shift) == figure


def gain(data: str, over: str) -> float:
    """Return by how much FlexCFL is better on a data set, in the mean of its models."""
    rows = [columns for row, columns in ACCURACY.items() if row.startswith(f"{data}-")]
    return fmean((row["flexcfl"] or 0.0) - (row[over] or 0.0) for row in rows)


@pytest.mark.parametrize(
    ("data", "over", "claimed"),
    [
        ("femnist", "fedavg", 10.6),
        ("fashion-mnist", "fedprox", 3.5),
        ("mnist", "fesem", 8.4),
        ("femnist", "fesem", 40.9),
        ("fashion-mnist", "fesem", 11.3),
    ],
)
def test_the_gains_that_the_paper_speaks_of_follow_from_table_3(
    data: str, over: str, claimed: float
) -> None:
    assert gain(data, over) == pytest.approx(claimed, abs=0.1)  # it cuts decimals off


def test_every_table_has_every_row_and_every_column() -> None:
    assert list(ACCURACY) == list(UNDER_SHIFT) == list(SIZES) == list(ROWS)
    assert {len(columns) for columns in ACCURACY.values()} == {8}
    assert {len(columns) for columns in UNDER_SHIFT.values()} == {6}
    for columns in UNDER_SHIFT.values():
        assert all(tuple(cell) == SHIFTS for cell in columns.values())
    assert tuple(MOTIVATION) == CLASSES


def test_every_column_is_a_method() -> None:
    columns = [columns for row in ROWS for columns in (ACCURACY[row], UNDER_SHIFT[row])]
    assert {name for each in columns for name in each} <= METHODS.keys()
    assert {name for each in TRANSFERS.values() for name in each} <= METHODS.keys()


def test_accuracies_are_in_percent() -> None:
    static = [cell for columns in ACCURACY.values() for cell in columns.values()]
    moved = [cell for each in UNDER_SHIFT.values() for cells in each.values()
             for cell in cells.values()]  # fmt: skip
    assert len(static) == 64
    assert len(moved) == 144
    assert all(10 < cell < 100 for cell in [*static, *moved] if cell is not None)


def test_clients_and_examples_belong_to_the_data_and_not_to_the_model() -> None:
    found = {(row.dataset, SIZES[name][:2]) for name, row in ROWS.items()}
    assert len(found) == len({row.dataset for row in ROWS.values()}) == 4
