"""Runs as rows: conditions keep what they say, and orders are total, stable, the best first."""

from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from flexcfl.errors import SettingsError
from flexcfl.record.summary import FIGURES
from flexcfl.report.history import RunRow
from flexcfl.report.history.rows import keys_in, matching_rows, newest_first, sorted_rows
from flexcfl.report.terminal.setting_rows import value_text
from tests.report.history.rows import DRAWN, KEYS, ROWS

RUN = RunRow(
    Path("runs/a"),
    "finished",
    datetime(2026, 11, 18, 15, 21, 5, tzinfo=UTC),
    {
        "algorithm.name": "flexcfl",
        "algorithm.groups": 5,
        "run.seed": 0,
        "run.rounds": 12,
        "local.rate": 0.1,
        "shift.name": ["swap-part", "incremental"],
        "mine.flag": True,
    },
    {**dict.fromkeys(FIGURES), "best": 0.966, "loss": 0.09, "migrations": 32},
)


def holds(word: str, row: RunRow = RUN) -> bool:
    return matching_rows([row], [word]) == [row]


@pytest.mark.parametrize(
    "word",
    [
        *("algorithm=flexcfl", "algorithm.name=flexcfl", "algorithm == flexcfl", "seed=0"),
        *("run.seed=0", "seed=0.0", "seed!=1", "rate=0.1", "rate<0.2", "rounds<50", "rounds>=12"),
        *("best>=0.9", "best>=90%", "best<=0.966", "loss<0.1", "migrations=32", "migrations>31"),
        *("shift=swap-part", "shift=incremental", 'shift=["swap-part", "incremental"]'),
        *("shift=[swap-part,incremental]", "shift!=swap-all", "drift=none", "honest=none"),
        *("state=finished", "folder=runs/a", "when=2026-11-18", "when>=2026-11-18", "groups=5"),
        *("when<2026-11-19", "when>2026-11-18T15:00", "mine.flag=true", "algorithm<g"),
        *("dataset!=digits", "drift!=label-share", 'algorithm="flexcfl"'),
    ],
)
def test_what_is_true_keeps_a_run(word: str) -> None:
    assert holds(word)


@pytest.mark.parametrize(
    "word",
    [
        *("algorithm=fedavg", "algorithm!=flexcfl", "seed=1", "seed!=0", "rate>0.1", "rounds<12"),
        *("best>0.97", "best<50%", "shift=none", "shift=swap-all", "shift!=incremental"),
        *("drift=label-share", "honest>0", "honest<=1", "state=running", "when<2026-11-18"),
        *("mine.flag=1", "mine.flag=false", "dataset=digits", "drift>0", "algorithm>g"),
    ],
)
def test_what_is_not_true_leaves_it_out(word: str) -> None:
    assert not holds(word)


@given(row=ROWS, data=st.data())
def test_a_runs_own_setting_always_keeps_it(row: RunRow, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(row.settings)))
    value = row.settings[key]
    # Around a value there may be spaces, so that none within it can be told from them.
    assume(value_text(value) == value_text(value).strip())
    assert holds(f"{key}={value_text(value)}", row)
    assert not holds(f"{key}!={value_text(value)}", row)


@given(row=ROWS, data=st.data())
def test_a_runs_own_figure_is_neither_less_nor_more(row: RunRow, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([*DRAWN, "median"]))
    value = row.figures[key]
    signs = {sign: holds(f"{key}{sign}{0.5 if value is None else value}", row) for sign in SIGNS}
    if value is None:
        assert signs == {**dict.fromkeys(SIGNS, False), "!=": True}
    else:
        assert signs == {sign: sign in ("=", ">=", "<=") for sign in SIGNS}


SIGNS = ("=", "!=", "<", "<=", ">", ">=")


@given(st.lists(ROWS, max_size=6), st.floats(0, 1))
def test_a_condition_and_its_opposite_divide_the_runs_that_have_a_figure(
    rows: list[RunRow], bound: float
) -> None:
    above = matching_rows(rows, [f"best>={bound!r}"])
    below = matching_rows(rows, [f"best<{bound!r}"])
    having = [row for row in rows if row.figures["best"] is not None]
    assert len(above) + len(below) == len(having)
    assert [row for row in having if row in above] == above


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("bst>=0.9", "Runs have no setting and no figure 'bst': did you mean 'best'?"),
        ("algorithm.nme=x", "did you mean 'algorithm.name'?"),
        ("Seed=1", "did you mean 'seed'?"),
        ("???=1", "no figure '???': 'flexcfl runs --help' lists them."),
        ("best", "'best' is not of the form KEY=VALUE, such as algorithm=flexcfl or final>=0.9."),
        ("=3", "'=3' is not of the form KEY=VALUE"),
        ("best>=90", "best is a share between 0 and 1: write best>=0.9 or best>=90%, not '90'."),
        ("best>=high", "best is a number: compare it with one"),
        ("best>=", "best is a number"),
        ("loss<none", "loss< needs a number, not 'none'."),
        ("\x1b[2J=1", "no figure '\\x1b[2J'"),
    ],
)
def test_a_wrong_condition_is_told_in_a_sentence(word: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        holds(word)
    assert sentence in str(caught.value)
    assert str(caught.value).isprintable()


def test_every_setting_can_be_asked_for_whether_a_run_has_it_or_not() -> None:
    assert not holds("privacy.level=client")
    assert not holds("attack=sign-flip")
    assert holds("data.arrivals=none")
    assert holds("network.nodes=none")


def test_keys_that_are_asked_for_have_the_names_of_columns() -> None:
    assert keys_in(["algorithm.name=x", "best>=1", "best<2"], "-loss") == [
        *("algorithm", "best", "loss"),
    ]


ANY = st.sampled_from([*KEYS, *DRAWN, "silhouette", "folder", "state", "when", "seed", "rounds"])
LISTS = st.lists(ROWS, max_size=5)


def has(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and isnan(value))


def known(rows: list[RunRow], key: str) -> list[Any]:
    return [row.value(key) for row in rows if has(row.value(key))]


@given(LISTS, ANY, st.booleans())
def test_every_run_stays_and_those_without_a_value_are_last(
    rows: list[RunRow], key: str, reverse: bool
) -> None:
    found = sorted_rows(rows, key, reverse)
    assert sorted(map(id, found)) == sorted(map(id, rows))
    lacking = [not has(row.value(key)) for row in found]
    assert lacking == sorted(lacking)


@given(LISTS, ANY, st.booleans())
def test_the_order_is_stable_and_ordering_again_changes_nothing(
    rows: list[RunRow], key: str, reverse: bool
) -> None:
    found = sorted_rows(rows, key, reverse)
    assert list(map(id, sorted_rows(found, key, reverse))) == list(map(id, found))
    for value in {repr(row.value(key)) for row in rows}:
        alike = [id(row) for row in rows if repr(row.value(key)) == value]
        assert [id(row) for row in found if repr(row.value(key)) == value] == alike


@given(st.data(), LISTS, ANY)
def test_the_order_does_not_depend_on_how_runs_came(
    data: st.DataObject, rows: list[RunRow], key: str
) -> None:
    other = data.draw(st.permutations(rows))
    assert known(sorted_rows(rows, key), key) == known(sorted_rows(other, key), key)


@given(LISTS, ANY)
def test_a_dash_is_the_other_way_round_and_twice_is_none(rows: list[RunRow], key: str) -> None:
    assert sorted_rows(rows, f"-{key}") == sorted_rows(rows, key, reverse=True)
    assert sorted_rows(rows, f"-{key}", reverse=True) == sorted_rows(rows, key)


@given(LISTS, st.sampled_from(DRAWN))
def test_the_best_comes_first(rows: list[RunRow], key: str) -> None:
    values = known(sorted_rows(rows, key), key)
    assert values == sorted(values, reverse=FIGURES[key].high)


def test_what_is_better() -> None:
    high = {name for name, figure in FIGURES.items() if figure.high}
    assert {"best", "final", "median", "migrations"} <= high
    assert not {"loss", "traffic", "seconds", "discrepancy", "epsilon"} & high


@given(LISTS)
def test_the_newest_comes_first(rows: list[RunRow]) -> None:
    times = [row.when for row in newest_first(rows)]
    assert times == sorted(times, reverse=True)
    assert [row.when for row in sorted_rows(rows, "when")] == times
