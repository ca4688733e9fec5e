"""What made the figures: commands that, given again, ask for exactly these cells."""

import csv
import io
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.paper.cells import CHOICES, Cell, chosen
from flexcfl.paper.target_files import command, origin_notes, runs_csv
from flexcfl.paper.targets import TARGETS, Request
from tests.paper.commands import asked_by
from tests.paper.constructed import part, result

RUN = [name for name in TARGETS if name not in ("table2", "bound")]


@st.composite
def asked(draw: st.DrawFn) -> list[Request]:
    """Draw what somebody asked for, one after the other in one folder, with the same choices."""
    target = draw(st.sampled_from(RUN))
    choices = {name: st.sampled_from(list(each.values)[1:]) for name, each in CHOICES.items()}
    wanted = (
        draw(st.fixed_dictionaries({}, optional=choices))
        if target not in ("choices", "algorithms")
        else {}
    )
    rows = st.lists(st.sampled_from(TARGETS[target].rows), min_size=1, max_size=3, unique=True)
    one = st.builds(
        Request,
        st.just(target),
        rows.map(tuple),
        st.integers(1, 3),
        st.sampled_from([300, 6, 400]),
        st.just(chosen(wanted)),
    )
    return draw(st.lists(one, min_size=1, max_size=3))


@settings(max_examples=30)
@given(asked())
def test_the_commands_that_are_told_ask_for_the_same_cells_again(several: list[Request]) -> None:
    cells = dict.fromkeys(cell for each in several for cell in each.cells())
    results = [result(cell.part, cell.seed, cell.rounds) for cell in cells]
    made, *_ = origin_notes(several[0].target, (), several[0].chosen, results)
    again: list[Cell] = []
    for line in re.findall("`([^`]+)`", made):
        again += asked_by(line).cells()
    assert set(again) == set(cells)
    assert len(again) == len(cells)  # no command asks for what another has


def test_one_command_is_enough_for_rows_with_the_same_seeds_and_rounds() -> None:
    asked = Request("table3", ("mnist-mclr", "synthetic-mclr"), seeds=2)
    results = [result(cell.part, cell.seed) for cell in asked.cells()]
    made, by = origin_notes("table3", (), (), results)
    line = "flexcfl reproduce table3 --only synthetic-mclr,mnist-mclr --seeds 2"
    assert made == f"Made by `{line}`."
    assert by == "Computed by flexcfl 0.0, torch 2.0 on Zeta 9."


def test_results_of_several_versions_and_processors_name_them_all() -> None:
    first, *others = [result(part(), seed).summary for seed in range(3)]
    others[0]["versions"]["torch"] = "3.0"
    del others[1]["processor"]  # as earlier versions left it
    results = [replace(result(part()), summary=each) for each in (first, *others)]
    _, by = origin_notes("table3", (), (), results)
    assert by == (
        "Computed by flexcfl 0.0, torch 2.0 on Zeta 9 and by flexcfl 0.0, torch 3.0 on Zeta 9 "
        "and by flexcfl 0.0, torch 2.0."
    )


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ((), "flexcfl reproduce table2"),
        (("mnist-mclr",), "flexcfl reproduce table2 --only mnist-mclr"),
    ],
)
def test_what_needs_no_runs_is_made_by_what_was_asked_for(rows: tuple[str, ...], line: str) -> None:
    made, *others = origin_notes("table2", rows, (), [])
    assert made == f"Made by `{line}`."
    assert [other.startswith("This machine: ") for other in others] == [True]
    assert asked_by(line) == Request("table2", rows)


def test_a_command_says_only_what_is_not_the_default() -> None:
    assert command("table4") == "flexcfl reproduce table4"
    wanted = (("sharing", "additive"), ("l2", "code"))
    line = command("table4", ["mnist-mlp"], 6, 3, wanted)
    assert asked_by(line) == Request("table4", ("mnist-mlp",), 3, 6, wanted)


def test_the_runs_have_a_line_each_with_their_own_figures() -> None:
    moved = part("mnist-mclr", "flexcfl", "swap-all").choosing((("l2", "code"),))
    one, two = csv.DictReader(io.StringIO(runs_csv([result(part()), result(moved, 3, 6, None)])))
    assert (one["setting"], one["method"], one["rounds"]) == ("synthetic-mclr", "flexcfl", "300")
    assert (float(one["best"]), float(one["final"]), one["seed"]) == (0.5, 0.4, "0")
    assert (two["setting"], two["method"]) == ("mnist-mclr-swap-all", "flexcfl-l2-code")
    assert (two["rounds"], two["seed"], two["best"], two["migrations"]) == ("6", "3", "", "1")
