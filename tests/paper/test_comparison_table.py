"""Comparison tables: text, Markdown and CSV say the same, and say it as a person expects."""

import csv
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.paper.comparison_table import ComparisonTable, Entry
from flexcfl.paper.tables import by_setting, heading, table3
from flexcfl.record.metrics import MeanDeviation
from tests.paper.constructed import part, result

ONE = MeanDeviation(91.25, None)
TWO = MeanDeviation(90.0, 0.5)
TABLE = ComparisonTable(
    "A title",
    [
        Entry(("MNIST", "swap-all"), "FedAvg", ONE, 90.0, {"final": MeanDeviation(85.0, None)}),
        Entry(("MNIST", "swap-all"), "FlexCFL", TWO, 95.0, {"final": MeanDeviation(None, None)}),
        Entry(("FEMNIST",), "FlexCFL", MeanDeviation(None, None), 70.0),
    ],
    ("A note.",),
    scores=True,
)

figures = st.builds(
    MeanDeviation, st.none() | st.floats(-1e4, 1e4), st.none() | st.floats(0, 100)
).map(lambda figure: MeanDeviation(None, None) if figure.mean is None else figure)
entries = st.builds(
    Entry,
    st.sampled_from([("a",), ("b", "c"), ("b", "c", "d", "e", "f", "g")]),
    st.sampled_from(["x", "y", "z"]),
    figures,
    st.none() | st.floats(-1e4, 1e4),
    st.dictionaries(st.sampled_from(["final", "default"]), figures),
    st.sampled_from([None, 0, 1, 3]),
)
tables = st.lists(entries, max_size=9, unique_by=lambda entry: (entry.block, entry.column)).map(
    lambda found: ComparisonTable("title", sorted(found, key=lambda entry: entry.block))
)


def cells(markdown: str) -> list[list[str]]:
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "---" not in line]


def test_markdown() -> None:
    head, *lines = cells(TABLE.markdown())
    assert head == ["", "", "FedAvg", "FlexCFL"]
    assert lines == [
        ["MNIST", "ours", "**91.2**", "90.0"],
        ["swap-all", "spread", "-", "0.5"],
        ["", "paper", "90.0", "95.0"],
        ["", "difference", "+1.2", "-5.0"],
        ["", "final", "85.0", "-"],
        ["FEMNIST", "ours", "", "-"],
        ["", "paper", "", "70.0"],
    ]
    assert TABLE.markdown().startswith("# A title\n")
    assert TABLE.markdown().endswith("\n- A note.\n")


def test_csv_has_the_figures_in_full_and_none_that_is_not_known() -> None:
    found = list(csv.reader(io.StringIO(TABLE.csv())))
    assert found[:4] == [
        ["block", "column", "figure", "value"],
        ["MNIST, swap-all", "FedAvg", "ours", "91.25"],
        ["MNIST, swap-all", "FedAvg", "paper", "90.0"],
        ["MNIST, swap-all", "FedAvg", "difference", "1.25"],
    ]
    assert found[-1] == ["FEMNIST", "FlexCFL", "paper", "70.0"]
    assert all(value for *_, value in found)


@settings(max_examples=40)
@given(tables)
def test_text_and_markdown_have_the_same_cells(table: ComparisonTable) -> None:
    marked = [[cell for cell in row if cell] for row in cells(table.markdown())]
    _, _, *lines, _ = table.text().splitlines()
    plain = [
        re.split(r" {2,}", line.strip())
        for line in lines
        if line.strip(" \N{BOX DRAWINGS LIGHT HORIZONTAL}")
    ]
    words = [[word for cell in row for word in cell.split()] for row in marked if row]
    assert [[word for cell in row for word in cell.split()] for row in plain] == words


@settings(max_examples=40)
@given(tables)
def test_csv_has_what_the_table_shows(table: ComparisonTable) -> None:
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    shown = [cell for _, _, *row in cells(table.markdown())[1:] for cell in row]
    assert len(rows) == sum(cell not in ("", "-") for cell in shown)
    by_name = {(row["block"], row["column"], row["figure"]): float(row["value"]) for row in rows}
    assert len(by_name) == len(rows)
    for entry in table.entries:
        name = (", ".join(entry.block), entry.column)
        assert by_name.get((*name, "ours")) == entry.ours.mean
        assert by_name.get((*name, "paper")) == entry.paper


@given(entries)
def test_the_difference_is_ours_less_the_papers(entry: Entry) -> None:
    if entry.paper is None or entry.ours.mean is None:
        assert entry.difference is None
        assert entry.shown("difference") == "-"
    else:
        assert entry.difference == entry.ours.mean - entry.paper
        assert entry.shown("difference")[0] in "+-"


@given(st.floats(-1e4, 1e4), st.sampled_from([0, 1, 3]))
def test_a_number_is_rounded_and_nought_has_no_minus(value: float, digits: int) -> None:
    shown = Entry(("a",), "b", MeanDeviation(value, None), 0.0, digits=digits)
    text = shown.shown("ours")
    assert float(text.replace(",", "")) == pytest.approx(value, abs=0.5000001 * 10.0**-digits)
    assert not re.fullmatch(r"-[0.]+", text)
    assert not re.fullmatch(r"-[0.]+", shown.shown("difference"))


@pytest.mark.parametrize(
    ("ours", "paper", "digits", "shown"),
    [
        (95.06, 95.1, 1, "+0.0"),
        (95.1, 95.06, 1, "+0.0"),
        (95.0, 95.1, 1, "-0.1"),
        (41_159, 75_349, 0, "-34,190"),
        (1e-5, 0.0, None, "+1e-05"),
        (-1e-5, 0.0, None, "-1e-05"),
        (0.07264, 0.073, None, "-0.00036"),
        (-0.0, 0.0, None, "+0"),
    ],
)
def test_differences_as_they_are_printed(
    ours: float, paper: float, digits: int | None, shown: str
) -> None:
    assert (
        Entry(("a",), "b", MeanDeviation(ours, None), paper, {}, digits).shown("difference")
        == shown
    )


@given(st.lists(st.none() | st.sampled_from([0.0, 10.0, 50.0]), min_size=1, max_size=5))
def test_the_best_of_a_block_are_marked_if_figures_are_scores(means: list[float | None]) -> None:
    entries = [
        Entry(("a",), f"m{place}", MeanDeviation(mean, None)) for place, mean in enumerate(means)
    ]
    for scores in (True, False):
        table = ComparisonTable("title", entries, scores=scores)
        head, ours = cells(table.markdown())
        marked = {name for name, cell in zip(head, ours, strict=True) if cell.startswith("**")}
        known = [mean for mean in means if mean is not None]
        best = {f"m{place}" for place, mean in enumerate(means) if known and mean == max(known)}
        assert marked == (best if scores else set())
        assert "*" not in table.text()


def test_our_line_may_have_another_name() -> None:
    table = ComparisonTable("title", [Entry(("a",), "b", ONE)], ours="measured")
    assert [row[1] for row in cells(table.markdown())[1:]] == ["measured"]
    assert "measured" in table.text()
    assert "a,b,measured,91.25" in table.csv()


def test_a_spread_is_shown_where_there_are_several_seeds() -> None:
    several = [result(part(), seed, best=0.5 + seed / 10) for seed in range(3)]
    for results, spread in ((several, True), (several[:1], False)):
        lines = {row[1]: row[2] for row in cells(table3(results).markdown())[1:]}
        assert ("spread" in lines) == spread
    assert lines["ours"] == "**50.0**"
    found = table3(several).entries[0]
    assert found.ours.mean == pytest.approx(60)
    assert found.ours.spread == pytest.approx(10)
    assert found.difference == pytest.approx(60 - 85.6)


@pytest.mark.parametrize(
    ("rounds", "seeds", "words"),
    [
        (300, 1, ("Synthetic(1,1)-MCLR", "swap-all", "1 seed")),
        (300, 3, ("Synthetic(1,1)-MCLR", "swap-all", "3 seeds")),
        (6, 1, ("Synthetic(1,1)-MCLR", "swap-all", "1 seed", "only 6 rounds")),
        (400, 1, ("Synthetic(1,1)-MCLR", "swap-all", "1 seed", "400 rounds")),
    ],
)
def test_a_heading_marks_other_numbers_of_rounds(
    rounds: int, seeds: int, words: tuple[str, ...]
) -> None:
    moved = part(shift="swap-all")
    assert heading([result(moved, seed, rounds) for seed in range(seeds)]) == words


def test_without_a_shift_none_is_named() -> None:
    assert heading([result(part("mnist-cnn"))]) == ("MNIST-CNN", "1 seed")


def test_what_has_other_rounds_is_a_block_of_its_own_after_the_whole_ones() -> None:
    results = [result(part(), 0, 6), result(part(), 0), result(part("mnist-mclr"), 1)]
    results += [result(part("mnist-mclr", shift="swap-all"), 0), result(part(), 1)]
    found = [[(each.cell.part.setting, each.cell.rounds) for each in group]
             for group in by_setting(results)]  # fmt: skip
    assert found == [
        [("synthetic-mclr", 300)] * 2,
        [("mnist-mclr", 300)],
        [("mnist-mclr-swap-all", 300)],
        [("synthetic-mclr", 6)],
    ]


def test_a_table_without_entries_still_has_its_title_and_notes() -> None:
    empty = ComparisonTable("A title", [], ("A note.",))
    assert empty.text().split("\n")[0] == "A title"
    assert "A note." in empty.text()
    assert empty.csv() == "block,column,figure,value\n"
    assert cells(empty.markdown()) == [["", ""]]
