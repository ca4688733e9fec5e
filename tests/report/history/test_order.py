"""The order of runs: total, stable, the best first, and those without a figure last."""

from math import isnan
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flexcfl.record.figures import FIGURES
from flexcfl.report.history import Row
from flexcfl.report.history.rows import by_time, ordered
from tests.report.history.rows import DRAWN, KEYS, ROWS

ANY = st.sampled_from([*KEYS, *DRAWN, "silhouette", "folder", "state", "when", "seed", "rounds"])
LISTS = st.lists(ROWS, max_size=5)


def has(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and isnan(value))


def known(rows: list[Row], key: str) -> list[Any]:
    return [row.value(key) for row in rows if has(row.value(key))]


@given(LISTS, ANY, st.booleans())
def test_every_run_stays_and_those_without_a_value_are_last(
    rows: list[Row], key: str, reverse: bool
) -> None:
    found = ordered(rows, key, reverse)
    assert sorted(map(id, found)) == sorted(map(id, rows))
    lacking = [not has(row.value(key)) for row in found]
    assert lacking == sorted(lacking)


@given(LISTS, ANY, st.booleans())
def test_the_order_is_stable_and_ordering_again_changes_nothing(
    rows: list[Row], key: str, reverse: bool
) -> None:
    found = ordered(rows, key, reverse)
    assert list(map(id, ordered(found, key, reverse))) == list(map(id, found))
    for value in {repr(row.value(key)) for row in rows}:
        alike = [id(row) for row in rows if repr(row.value(key)) == value]
        assert [id(row) for row in found if repr(row.value(key)) == value] == alike


@given(st.data(), LISTS, ANY)
def test_the_order_does_not_depend_on_how_runs_came(
    data: st.DataObject, rows: list[Row], key: str
) -> None:
    other = data.draw(st.permutations(rows))
    assert known(ordered(rows, key), key) == known(ordered(other, key), key)


@given(LISTS, ANY)
def test_a_dash_is_the_other_way_round_and_twice_is_none(rows: list[Row], key: str) -> None:
    assert ordered(rows, f"-{key}") == ordered(rows, key, reverse=True)
    assert ordered(rows, f"-{key}", reverse=True) == ordered(rows, key)


@given(LISTS, st.sampled_from(DRAWN))
def test_the_best_comes_first(rows: list[Row], key: str) -> None:
    values = known(ordered(rows, key), key)
    assert values == sorted(values, reverse=FIGURES[key].high)


def test_what_is_better() -> None:
    high = {name for name, figure in FIGURES.items() if figure.high}
    assert {"best", "final", "median", "migrations"} <= high
    assert not {"loss", "traffic", "seconds", "discrepancy", "epsilon"} & high


@given(LISTS)
def test_the_newest_comes_first(rows: list[Row]) -> None:
    times = [row.when for row in by_time(rows)]
    assert times == sorted(times, reverse=True)
    assert [row.when for row in ordered(rows, "when")] == times
