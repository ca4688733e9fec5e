"""Results of several machines: one record for each run, and the tables that all runs give."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rich.console import Console

from flexcfl.comparison import worker_pool
from flexcfl.errors import SettingsError
from flexcfl.paper.cells import Cell
from flexcfl.paper.merging import merge
from flexcfl.paper.records import CURVES, CellRecord, read_records, to_json_lines
from flexcfl.paper.reproducing import make_targets, planned_cells
from flexcfl.paper.results import finished_results
from flexcfl.paper.targets import Request
from tests.paper.constructed import part, summary, write_run

TABLE = Request("table3", ("synthetic-mclr",), rounds=6)


def merged(*folders: Path) -> str:
    """Merge all folders into the last one, and return what is shown."""
    screen = io.StringIO()
    merge(folders[:-1], folders[-1], Console(file=screen, width=200))
    return screen.getvalue()


def tables(folder: Path) -> dict[str, bytes]:
    """Return the files beside the runs, but for the pages, which only run folders have."""
    files = (path for path in folder.iterdir() if path.is_file() and path.suffix != ".html")
    return {path.name: path.read_bytes() for path in files}


@pytest.fixture
def halves(tmp_path: Path) -> list[Path]:
    """Return the folders of two machines, each of which has half of a table's runs."""
    cells = TABLE.cells()
    for number, cell in enumerate(cells):
        write_run(tmp_path / f"machine{number % 2}", cell, best=0.5 + number / 100)
    return [tmp_path / "machine0", tmp_path / "machine1"]


def test_tables_from_records_are_those_of_one_machine(halves: list[Path], tmp_path: Path) -> None:
    for number, cell in enumerate(TABLE.cells()):
        write_run(tmp_path / "alone", cell, best=0.5 + number / 100)
    make_targets([TABLE], Console(quiet=True), jobs=1, folder=tmp_path / "alone")
    merged(*halves, tmp_path / "all")
    assert tables(tmp_path / "all") == tables(tmp_path / "alone")
    assert [path.name for path in (tmp_path / "all/runs").iterdir()] == ["synthetic-mclr.jsonl"]
    before = tables(tmp_path / "all"), (tmp_path / "all/runs/synthetic-mclr.jsonl").read_bytes()
    merged(halves[1], tmp_path / "all")
    merged(tmp_path / "all", tmp_path / "again")
    for folder in (tmp_path / "all", tmp_path / "again"):
        assert (tables(folder), (folder / "runs/synthetic-mclr.jsonl").read_bytes()) == before


def test_nothing_is_shown_of_a_row_until_all_of_it_is_there(
    halves: list[Path], tmp_path: Path
) -> None:
    merged(halves[0], tmp_path / "all")
    assert not tables(tmp_path / "all")


def test_a_run_with_a_record_is_not_done_again(
    halves: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        worker_pool, "WorkerProcess", lambda *_, **__: pytest.fail("a run was begun")
    )
    merged(*halves, tmp_path / "all")
    make_targets([TABLE], Console(quiet=True), jobs=1, folder=tmp_path / "all")
    merged(halves[0], tmp_path / "half")
    screen = io.StringIO()
    with pytest.raises(pytest.fail.Exception):
        make_targets([TABLE], Console(file=screen, width=200), jobs=1, folder=tmp_path / "half")
    total = len(TABLE.cells())
    assert f"{total} runs, {-(-total // 2)} of them done before" in screen.getvalue()


def test_two_results_of_one_cell_are_refused(halves: list[Path], tmp_path: Path) -> None:
    write_run(halves[1], TABLE.cells()[0], best=0.75)
    with pytest.raises(SettingsError, match=r"seed 0 has one result in '.*machine0' and another"):
        merged(*halves, tmp_path / "all")
    assert not (tmp_path / "all/runs").exists()
    merged(halves[0], tmp_path / "all")
    write_run(tmp_path / "all", TABLE.cells()[0], best=0.75)
    with pytest.raises(SettingsError, match=r"another in '.*synthetic-mclr.jsonl': keep one"):
        merged(halves[1], tmp_path / "all")


def test_another_time_and_another_processor_are_no_other_result(
    halves: list[Path], tmp_path: Path
) -> None:
    path = write_run(halves[1], TABLE.cells()[0], best=0.5)
    other = json.loads((path / "summary.json").read_text()) | {"processor": "Eta", "seconds": 9.0}
    (path / "summary.json").write_text(json.dumps(other))
    assert f"{len(TABLE.cells())} runs in" in merged(*halves, tmp_path / "all")


def test_a_table_never_loses_runs_that_have_no_record(halves: list[Path], tmp_path: Path) -> None:
    merged(*halves, tmp_path / "all")
    (tmp_path / "all/runs/synthetic-mclr.jsonl").unlink()
    before = tables(tmp_path / "all")
    number = len(TABLE.cells()) // 2
    with pytest.raises(SettingsError, match=f"shows {number} runs that have no record"):
        merged(halves[0], tmp_path / "all")
    assert tables(tmp_path / "all") == before
    assert not list((tmp_path / "all/runs").iterdir())


def test_other_versions_are_refused(halves: list[Path], tmp_path: Path) -> None:
    for file in halves[1].rglob("summary.json"):
        file.write_text(file.read_text().replace('"torch": "2.0"', '"torch": "2.1"'))
    told = r"by different versions, flexcfl 0.0, torch 2.0 \(in .*\) and flexcfl 0.0, torch 2.1"
    with pytest.raises(SettingsError, match=told):
        merged(*halves, tmp_path / "all")


def test_what_no_table_has_of_itself_is_left_out_and_said(
    halves: list[Path], tmp_path: Path
) -> None:
    write_run(halves[0], Cell(part().choosing((("l2", "code"), ("pretraining", "epoch"))), 0, 6))
    assert f"1 run of '{halves[0]}' is in no table" in merged(*halves, tmp_path / "all")


def test_what_is_no_reproduction_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="has no folder 'runs': name the folder of a reprod"):
        merged(tmp_path, tmp_path / "all")
    assert not (tmp_path / "all").exists()


def lines(change: Callable[[dict[str, Any]], object]) -> bytes:
    cell = Cell(part(), 0, 3)
    rounds = {name: np.full(3, 0.5) for name in CURVES}
    record = json.loads(to_json_lines([CellRecord.of(cell, summary(cell), rounds, 40)]))
    change(record)
    return json.dumps(record).encode()


DAMAGED: Mapping[str, bytes] = {
    "half a line": lines(lambda _: None)[:200],
    "no JSON": b"0\n",
    "a curve too long": lines(lambda record: record["curves"]["loss"].append(0.5)),
    "a curve too few": lines(lambda record: record["curves"].pop("loss")),
    "a number that is text": lines(lambda record: record["curves"].update(loss=["0.5"] * 3)),
    "more than all": lines(lambda record: record["curves"].update(accuracy=[1.5] * 3)),
    "another summary": lines(lambda record: record["summary"].update(seed=1)),
    "no summary": lines(lambda record: record["summary"].clear()),
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=list(DAMAGED))
def test_a_damaged_record_is_refused(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/synthetic-mclr.jsonl").write_bytes(line)
    with pytest.raises(SettingsError, match=r"synthetic-mclr.jsonl' is damaged \("):
        list(finished_results(tmp_path, [part()]))


def test_the_record_of_other_settings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    other = lines(lambda record: record["settings"]["local"].update(batch=20))
    (tmp_path / "runs/synthetic-mclr.jsonl").write_bytes(other)
    with pytest.raises(
        SettingsError, match=r"belongs to another run \(\[local\] batch is not the same\)"
    ):
        list(finished_results(tmp_path, [part()]))


accuracies = arrays(np.float64, 5, elements=st.just(np.nan) | st.floats(0, 1))


@given(st.lists(accuracies, min_size=1, max_size=3))
def test_a_record_keeps_every_digit_of_an_accuracy(curves: list[np.ndarray[Any, Any]]) -> None:
    found = []
    for seed, curve in enumerate(curves):
        cell = Cell(part(), seed, 5)
        rounds = {"accuracy": curve, "loss": curve / 3, "discrepancy": curve * 7}
        found.append(CellRecord.of(cell, summary(cell), rounds, None))
    for line, curve in zip(to_json_lines(found).splitlines(), curves, strict=True):
        read = json.loads(line)["curves"]
        assert np.array_equal(np.array(read["accuracy"], float), curve, equal_nan=True)
        assert np.allclose(np.array(read["loss"], float), curve / 3, rtol=1e-5, equal_nan=True)


def test_records_know_nothing_of_where_the_files_are(halves: list[Path], tmp_path: Path) -> None:
    merged(*halves, tmp_path / "all")
    for record in read_records(tmp_path / "all", "synthetic-mclr"):
        assert "data" not in record.settings["run"]
        assert str(tmp_path) not in json.dumps(asdict(record))


def test_the_plan_begins_with_what_the_claims_rest_on() -> None:
    rows = ("mnist-cnn", "femnist-cnn", "fashion-mnist-cnn", "mnist-mclr")
    cells = planned_cells([Request("table4", rows, seeds=2), Request("table3", rows, seeds=2)])
    told = [(cell.part.row.name, cell.seed, cell.part.shift, cell.part.method.name)
            for cell in cells]  # fmt: skip
    order = list(dict.fromkeys((row, seed) for row, seed, *_ in told))
    assert order[:4] == [("mnist-mclr", 0), ("mnist-mclr", 1), ("mnist-cnn", 0), ("mnist-cnn", 1)]
    assert {seed for _, seed in order[4:6]} == {0}  # both long rows go on side by side
    long = [each for each in told if "fashion" in each[0] and each[1] == 0]
    first, last = {each[2] for each in long[:9]}, {each[3] for each in long[-7:]}
    assert first == {"none", "swap-all"}
    assert "fedavg" not in last
    assert {"fedprox", "fesem", "flexcfl-rcc", "flexcfl-rac"} == last
