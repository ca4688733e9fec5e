"""Everything that can be reproduced: complete, without doubles, and made of whatever is there."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.errors import SettingsError
from flexcfl.paper.catalogue import CLASSES, ROWS, SHIFTS, rows_named
from flexcfl.paper.cells import CHOICES, Cell, TablePart
from flexcfl.paper.comparison_table import ComparisonTable
from flexcfl.paper.own_tables import CHOICES_MEASURED
from flexcfl.paper.published import ACCURACY, UNDER_SHIFT
from flexcfl.paper.results import Result, finished_results
from flexcfl.paper.targets import TARGETS, Request, target_named
from tests.paper.constructed import result, write_run

RUN = [name for name, target in TARGETS.items() if target.parts(ROWS[target.rows[0]])]
each_target = pytest.mark.parametrize("name", TARGETS)
each_run = pytest.mark.parametrize("name", RUN)


def parts(name: str) -> list[TablePart]:
    target = TARGETS[name]
    return [part for row in rows_named(target.rows, target.rows) for part in target.parts(row)]


def names(target: str, row: str) -> list[tuple[str, str]]:
    return [(part.method.name, part.shift) for part in TARGETS[target].parts(ROWS[row])]


def table_of(name: str, results: Sequence[Result]) -> ComparisonTable:
    table = TARGETS[name].make(Request(name), results).table
    assert table
    return table


@each_target
def test_rows_exist_and_the_usual_ones_are_among_them(name: str) -> None:
    target = TARGETS[name]
    assert target.summary
    assert set(target.rows) <= ROWS.keys()
    assert set(target.usual or ()) <= set(target.rows)
    assert [row.name for row in Request(name).rows] == [
        row for row in ROWS if row in (target.usual or target.rows)
    ]


@each_run
def test_every_cell_is_an_experiment_and_has_a_folder_of_its_own(name: str) -> None:
    cells = Request(name, tuple(TARGETS[name].rows), seeds=2, rounds=7).cells()
    assert len({cell.folder for cell in cells}) == len(cells) == 2 * len(parts(name))
    for cell in cells:
        found = cell.experiment
        assert found.algorithm.name == cell.part.method.algorithm
        assert (found.run.seed, found.run.rounds) == (cell.seed, 7)
        assert "+".join(found.shift) in (cell.part.shift, "")


@each_run
def test_cells_come_seed_by_seed_and_what_takes_least_time_first(name: str) -> None:
    cells = Request(name, tuple(TARGETS[name].rows), seeds=3).cells()
    keys = [(cell.part.row.seconds, cell.seed) for cell in cells]
    assert keys == sorted(keys)


def test_only_tables_that_count_and_measure_by_themselves_have_no_runs() -> None:
    assert TARGETS.keys() - set(RUN) == {"table2", "bound"}


def test_table_1_is_fedavg_with_four_kinds_of_clients() -> None:
    found = [part.row.settings["data.classes_per_client"] for part in parts("table1")]
    assert found == list(CLASSES)
    assert {part.method.name for part in parts("table1")} == {"fedavg"}
    assert parts("figure-motivation") == parts("table1")


@pytest.mark.parametrize("row", ROWS)
def test_table_3_has_all_methods_of_which_the_paper_has_a_figure(row: str) -> None:
    every = ["fedavg", "fedprox", "ifca", "fesem", "flexcfl-rcc", "flexcfl-rac", "flexcfl"]
    every += ["flexcfl-eta0.1"]
    if row == "synthetic-mclr":
        every.remove("flexcfl-rac")
    assert names("table3", row) == [(method, "none") for method in every]
    assert all(ACCURACY[row][method] is not None for method in every)


@pytest.mark.parametrize("row", ROWS)
def test_table_4_has_six_methods_under_three_shifts(row: str) -> None:
    found = names("table4", row)
    assert len(found) == len(set(found)) == 18
    assert {shift for _, shift in found} == set(SHIFTS)
    assert {method for method, _ in found} == UNDER_SHIFT[row].keys()
    assert names("figure-shift", row) == found  # so that a run serves both


@pytest.mark.parametrize("row", TARGETS["figure-accuracy"].rows)
def test_the_figures_of_accuracy_share_most_of_their_runs_with_table_3(row: str) -> None:
    compared = {"fedavg", "fedprox", "ifca", "fesem", "flexcfl", "flexcfl-eta0.1"}
    found = {method for method, _ in names("figure-accuracy", row)}
    rates = {f"flexcfl-eta{rate}" for rate in ("0.1", "1", "5", "10")}
    assert found == compared | (rates if row == "mnist-mlp" else set())
    static = {method for method, _ in names("table3", row)}
    assert compared <= static


def test_the_figure_of_rates_has_flexcfl_alone_and_with_each_rate() -> None:
    methods = ["flexcfl", *(f"flexcfl-eta{rate}" for rate in ("0.1", "1", "5", "10"))]
    assert names("figure-eta", "mnist-mlp") == [(method, "none") for method in methods]
    assert names("figure-eta", "femnist-mlp") == [(method, "swap-part") for method in methods]


@pytest.mark.parametrize("row", TARGETS["figure-overhead"].rows)
def test_the_figure_of_overhead_has_the_methods_with_migration(row: str) -> None:
    found = names("figure-overhead", row)
    assert {"fedavg", "ifca-mig", "fesem-mig", "flexcfl"} < {method for method, _ in found}
    assert len({shift for _, shift in found}) == 1
    shared = {(method, shift) for method, shift in found if not method.endswith("-mig")}
    assert shared <= set(names("table4", row))


def test_every_choice_is_measured_where_it_makes_a_difference() -> None:
    assert {choice for choice, *_ in CHOICES_MEASURED} == CHOICES.keys()
    for row in ROWS.values():
        found = TARGETS["choices"].parts(row)
        chosen = [part for part in found if part.chosen]
        expected = sum(len(methods) * len(shifts) for *_, methods, shifts in CHOICES_MEASURED)
        assert len(set(chosen)) == len(chosen) == expected
        assert all(TablePart(row, part.method, part.shift) in found for part in chosen)


def test_the_default_of_every_choice_that_is_measured_is_a_cell_of_table_3_or_4() -> None:
    tables = {*parts("table3"), *parts("table4")}
    assert {part for part in parts("choices") if not part.chosen} <= tables


@pytest.mark.parametrize("name", [name for name in RUN if name != "beyond"])
def test_a_target_is_made_of_all_its_cells(name: str) -> None:
    results = [result(part, seed, best=0.875) for part in parts(name) for seed in range(2)]
    made = TARGETS[name].make(Request(name), results)
    assert (made.table is None) == (name.startswith("figure") and name != "figure-overhead")
    assert (made.draw is None) == (name[0] != "f")
    if not made.table:
        return
    spreads = {entry.ours.spread for entry in made.table.entries if entry.column != "margin"}
    assert spreads == {0}
    if name in ("table3", "table4"):
        assert len(made.table.entries) == len(parts(name))
        assert all(entry.paper for entry in made.table.entries)
        assert {entry.ours.mean for entry in made.table.entries} == {87.5}
        finals = [entry.further["final"].mean for entry in made.table.entries]
        assert finals == pytest.approx([77.5] * len(finals))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the runs of all figures, of two rows at most and of few rounds."""
    path = tmp_path_factory.mktemp("figures")
    figures = [name for name in RUN if name.startswith("figure")]
    several = {Cell(part, seed, 4) for name in figures for row in TARGETS[name].rows[:2]
               for part in TARGETS[name].parts(ROWS[row]) for seed in range(2)}  # fmt: skip
    for cell in several:
        write_run(path, cell)
    return path


# Of one row more there are runs under one shift, which are another figure's.
PANELS = {"motivation": 2 * 4, "accuracy": 3 * 3, "shift": 3 * 2 + 1, "eta": 2 * 2, "overhead": 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", PANELS)
def test_a_figure_has_its_panels_and_can_be_drawn(name: str, folder: Path) -> None:
    target = TARGETS[f"figure-{name}"]
    several = [part for row in target.rows for part in target.parts(ROWS[row])]
    made = target.make(
        Request(f"figure-{name}", tuple(target.rows)), list(finished_results(folder, several))
    )
    assert made.draw
    picture, content = made.draw(), io.BytesIO()
    panels = [axes for axes in picture.axes if axes.axison]
    assert len(panels) == PANELS[name]
    assert [axes for axes in picture.axes if axes.has_data()] == panels
    titles = [axes.get_title() for axes in picture.axes if axes.get_title()]
    assert all(title.endswith("2 seeds, only 4 rounds") for title in titles)
    assert titles
    picture.savefig(content, format="png", dpi=40)
    assert content.tell() > 1000


def test_one_key_says_which_line_is_which_method(folder: Path) -> None:
    several = [part for name in ROWS for part in TARGETS["figure-shift"].parts(ROWS[name])]
    results = list(finished_results(folder, several))
    made = TARGETS["figure-shift"].make(Request("figure-shift", tuple(ROWS)), results)
    assert made.draw
    (key,) = made.draw().legends
    labels = [text.get_text() for text in key.get_texts()]
    assert labels == ["FedAvg", "IFCA", "FeSEM", "FedGroup", "FlexCFL", "FlexCFL, eta_g 5"]


def test_a_picture_has_the_rows_that_were_asked_for_and_a_table_all(folder: Path) -> None:
    results = list(finished_results(folder, parts("figure-overhead")))
    request = Request("figure-overhead", ("mnist-mclr",))
    assert len(results) == 2 * 8 * 2
    assert {each.cell.part.row.name for each in request.drawn(results)} == {"mnist-mclr"}
    made = TARGETS["figure-overhead"].make(request, results)
    assert made.table
    assert made.draw
    assert len(made.table.entries) == 2 * len(made.draw().axes[0].patches)


def test_beyond_holds_our_configuration_against_the_best_of_the_same_rounds(
    tmp_path: Path,
) -> None:
    several = TARGETS["beyond"].parts(ROWS["synthetic-mclr"])
    for part in several:
        high = {"ours": 0.75, "ifca": 0.5, "ifca-groups20": 0.875}.get(part.method.name, 0.25)
        write_run(tmp_path, Cell(part, 0, 4), high)
    results = list(finished_results(tmp_path, several))
    entries = table_of("beyond", results).entries
    margins = [entry for entry in entries if entry.column == "margin"]
    assert len(margins) == 4
    assert {entry.ours.mean for entry in margins} == {25.0}
    assert all(entry.block[-1] == "best: IFCA" for entry in margins)
    controls = [entry for entry in entries if entry.column == "IFCA 20 groups"]
    assert [entry.ours.mean for entry in controls] == [87.5] * 4  # and none is "best of the tables"


def test_table_1_has_the_papers_figures_beside_ours() -> None:
    entries = table_of("table1", [result(part) for part in parts("table1")]).entries
    found = {(entry.block[0], entry.column): entry for entry in entries}
    assert len(found) == 20
    alike = found["10 classes (IID)", "rounds to 85 %"]
    assert (alike.ours.mean, alike.paper, alike.shown("ours")) == (7, 4, "7")
    assert found["1 class", "variance"].shown("ours") == "0.0123"
    assert found["3 classes", "discrepancy, mean"].shown("paper") == "0.767"


def test_the_table_of_overhead_has_transfers_and_accuracies() -> None:
    results = [result(part) for part in TARGETS["figure-overhead"].parts(ROWS["mnist-mclr"])]
    found = {entry.column: entry for entry in table_of("figure-overhead", results).entries}
    assert found["FlexCFL"].paper == 1.26
    assert found["IFCA-MIG"].shown("difference") == "-4.23"
    assert found["FedAvg"].line("accuracy, best") == 50


def test_a_choice_is_held_against_its_default_with_the_same_seeds_and_rounds() -> None:
    usual = TablePart(ROWS["synthetic-mclr"], parts("table3")[0].method)  # FedAvg
    other = usual.choosing((("l2", "code"),))
    results = [
        *(result(usual, seed, best=0.5) for seed in range(2)),
        result(usual, 7, best=0.9),
        *(result(other, seed, best=0.25) for seed in range(2)),
        result(usual, 0, rounds=6, best=0.125),
        result(other, 0, rounds=6, best=0.75),
        result(usual, 0, rounds=9, best=0.3),
    ]
    found = {(*entry.block[:2], entry.column): (entry.ours.mean, entry.further["default"].mean)
             for entry in table_of("choices", results).entries}  # fmt: skip
    whole, short = "Synthetic(1,1)-MCLR, 2 seeds", "Synthetic(1,1)-MCLR, 1 seed, only 6 rounds"
    assert found == {
        ("l2=code", "FedAvg", whole): (25, 50),
        ("l2=code", "FedAvg", short): (75, 12.5),
    }


def test_an_unknown_target_or_row_is_answered_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"no table or figure 'tabel3': did you mean 'table3'"):
        target_named("tabel3")
    with pytest.raises(SettingsError, match=r"'mnist-mlcr': did you mean 'mnist-mclr'"):
        Request("table3", ("mnist-mlcr",)).cells()
    with pytest.raises(SettingsError, match=r"no row 'mnist-cnn'.* Known: mnist-mclr\.$"):
        Request("table1", ("mnist-cnn",)).cells()


def test_rows_come_in_the_order_of_the_paper_whatever_the_order_asked_for() -> None:
    asked = Request("table3", ("synthetic-mclr", "mnist-mclr", "synthetic-mclr"))
    assert [row.name for row in asked.rows] == ["mnist-mclr", "synthetic-mclr"]


def test_every_method_is_an_algorithm() -> None:
    every = {part.method for name in RUN for part in parts(name)}
    assert {method.algorithm for method in every} <= ALGORITHMS.keys()
    assert len({method.name for method in every}) == len({method.label for method in every})
