"""Cells: the paper's settings, a folder for each, and each found again by itself."""

from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.errors import SettingsError
from flexcfl.paper.catalogue import CLASSES, METHODS, ROWS, SHIFTS, motivation, sharing
from flexcfl.paper.cells import CHOICES, Cell, TablePart
from flexcfl.paper.figures import RATES
from flexcfl.paper.results import finished_results
from tests.paper.constructed import part, write_run

EVERY_ROW = [*ROWS.values(), *map(motivation, CLASSES)]
EVERY_METHOD = [*METHODS.values(), *map(sharing, RATES)]

parts = st.builds(
    lambda row, method, shift, wanted: TablePart(row, method, shift).choosing(
        tuple(wanted.items())
    ),
    st.sampled_from(EVERY_ROW),
    st.sampled_from(EVERY_METHOD),
    st.sampled_from(["none", *SHIFTS]),
    st.fixed_dictionaries(
        {}, optional={name: st.sampled_from([*each.values][1:]) for name, each in CHOICES.items()}
    ),
)
cells = st.builds(Cell, parts, st.integers(0, 21), st.sampled_from([1, 2, 12, 30, 300]))

PAPER = {  # rate and groups by data set
    "mnist": (0.03, 3),
    "femnist": (0.003, 5),
    "synthetic": (0.01, 5),
    "fashion-mnist": (0.005, 5),
}
# What a row brings and what a method brings do not depend on each other.
EACH = list(zip(METHODS, cycle(ROWS), strict=False))


@pytest.mark.parametrize(("method", "row"), EACH)
def test_the_settings_are_the_papers(method: str, row: str) -> None:
    found = Cell(part(row, method, "swap-all")).experiment
    rate, groups = PAPER[ROWS[row].dataset]
    local, run, options = found.local, found.run, found.algorithm.options
    assert (run.rounds, run.cohort, run.seed, run.evaluate_every) == (300, 20, 0, 1)
    assert (local.epochs, local.batch, local.rate, local.steps) == (10, 10, rate, None)
    assert local.prox == (1.0 if method == "fedprox" else 0.0)
    assert local.l2 == 0
    alike = method in ("fedavg", "fedprox")
    assert run.cohorts == ("uniform" if alike else "round-robin-then-uniform")
    assert (found.data.name, found.model.name) == (ROWS[row].dataset, ROWS[row].model)
    assert list(found.shift) == ["swap-all"]
    if not alike and method not in ("cfl", "flhc"):  # which find their number
        assert options.groups == groups
    if method.startswith(("flexcfl", "fedgroup")):
        assert getattr(options, "alpha", None) == (None if method == "flexcfl-rcc" else 20)
        rates = {"flexcfl-eta0.1": 0.1, "flexcfl-eta5": 5.0}
        assert options.eta_g == rates.get(method, 0.0)


@pytest.mark.parametrize("classes", CLASSES)
def test_table_1_has_more_epochs_and_other_clients(classes: int) -> None:
    found = Cell(TablePart(motivation(classes), METHODS["fedavg"])).experiment
    assert (found.local.epochs, found.local.batch, found.local.rate) == (20, 10, 0.03)
    assert found.data.options.classes_per_client == classes
    assert (found.data.name, found.model.name) == ("mnist", "mclr")
    assert not found.shift


@given(st.lists(cells, min_size=2, max_size=40))
def test_two_cells_share_a_folder_only_if_they_are_the_same(several: list[Cell]) -> None:
    assert len({cell.folder for cell in several}) == len(set(several))
    assert len({cell.title for cell in several}) <= len(set(several))


@given(cells)
def test_a_folder_tells_of_what_it_is_and_leads_nowhere_else(cell: Cell) -> None:
    top, setting, name = Path(cell.folder).parts
    assert top == "runs"
    assert setting.startswith(cell.part.row.name)
    assert name.startswith(cell.part.method.name)
    assert name.endswith(f"-seed{cell.seed}")
    assert "." not in cell.folder.replace("eta0.1", "")


@given(cells, cells)
def test_cells_of_different_settings_have_different_experiments(one: Cell, two: Cell) -> None:
    assert (one == two) == (one.experiment == two.experiment)


def test_where_the_files_are_makes_no_difference_to_what_a_cell_is() -> None:
    here, there = Cell(part()), Cell(part(), data=Path("/data"))
    assert here == there
    assert there.experiment.run.data == Path("/data")


def confusable() -> list[Cell]:
    """Return cells of which the name of one begins that of another, or ends it."""
    parts = [
        part("mnist-mclr"),
        part("mnist-mclr", shift="swap-all"),
        part("mnist-mclr", "flexcfl-eta5"),
        part("mnist-mclr", "flexcfl-rac"),
        TablePart(ROWS["mnist-mclr"], sharing(1)),
        TablePart(ROWS["mnist-mclr"], sharing(10)),
        part("mnist-mclr", "fesem"),
        part("mnist-mclr", "fesem-mig"),
        part("fashion-mnist-cnn"),
        part("mnist-cnn"),
        part("mnist-mclr", "fedavg"),
        part("mnist-mclr", "fedavg").choosing((("l2", "code"),)),
        part("mnist-mclr", "fedavg").choosing((("cohorts", "same"), ("l2", "code"))),
        *(TablePart(motivation(classes), METHODS["fedavg"]) for classes in (1, 10)),
        *(
            part("mnist-mclr", shift="swap-all").choosing((("drift", name),))
            for name in ("wasserstein", "wasserstein-counts")
        ),
    ]
    return [Cell(each, seed, rounds) for each in parts
            for seed, rounds in [(0, 300), (1, 3), (10, 3), (0, 30)]]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cells")
    for number, cell in enumerate(confusable()):
        write_run(path, cell, best=(number + 1) / 100)
    return path


def test_what_is_finished_of_a_part_is_all_of_it_and_nothing_else(folder: Path) -> None:
    every = confusable()
    assert len({cell.part for cell in every}) == 17
    for each in {cell.part for cell in every}:
        found = list(finished_results(folder, [each]))
        mine = {cell: (place + 1) / 100 for place, cell in enumerate(every) if cell.part == each}
        assert len(found) == len(mine) == 4
        assert {one.cell: one.summary["accuracy"]["best"] for one in found} == mine
        assert all(one.path == folder / one.cell.folder for one in found)


def test_of_what_was_never_run_nothing_is_found(folder: Path, tmp_path: Path) -> None:
    assert not list(finished_results(folder, [part("femnist-mclr")]))
    assert not list(finished_results(folder, [part("mnist-mclr", "ifca")]))
    assert not list(finished_results(tmp_path, [part("mnist-mclr")]))


def test_what_has_no_summary_yet_is_not_finished(tmp_path: Path) -> None:
    for seed in range(2):
        write_run(tmp_path, Cell(part(), seed, 3))
    (tmp_path / Cell(part(), 1, 3).folder / "summary.json").unlink()
    assert [found.cell.seed for found in finished_results(tmp_path, [part()])] == [0]


def test_a_result_has_the_figures_of_its_rounds(tmp_path: Path) -> None:
    path = write_run(tmp_path, Cell(part(), 0, 4), best=0.8)
    head = "round,group,accuracy,loss,clients,discrepancy"
    (path / "groups.csv").write_text(f"{head}\n3,0,,,9,\n4,0,,,2,\n4,1,,,7,\n")
    (found,) = finished_results(tmp_path, [part()])
    expected = [np.nan, 0.4, 0.6, 0.8]
    assert np.allclose(found.rounds["accuracy"], expected, equal_nan=True)
    assert found.rounds["round"].tolist() == [1, 2, 3, 4]
    assert found.largest_group == 7


def test_the_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path, Cell(part(), 0, 3))
    file = path / "experiment.toml"
    file.write_text(file.read_text().replace("batch = 10", "batch = 20"))
    with pytest.raises(SettingsError, match=r"is another one \(\[local\] batch differs\)"):
        list(finished_results(tmp_path, [part()]))
