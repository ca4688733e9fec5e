"""Cells that were never run: their results, and the folders that they would have left."""

import json
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np

from flexcfl.experiment import toml
from flexcfl.paper.catalogue import METHODS, ROUNDS, ROWS
from flexcfl.paper.cells import Cell, TablePart
from flexcfl.paper.results import Result
from flexcfl.record import csv_tables as tables
from flexcfl.record.tables import RoundFigures

NOWHERE = Path("nowhere")


def part(row: str = "synthetic-mclr", method: str = "flexcfl", shift: str = "none") -> TablePart:
    """Return a part by names."""
    return TablePart(ROWS[row], METHODS[method], shift)


def summary(cell: Cell, best: float | None = 0.5) -> Any:
    """Return the summary of a cell with this accuracy; that of the last rounds is 0.1 less."""
    final = None if best is None else max(best - 0.1, 0.0)
    return {
        "algorithm": cell.part.method.algorithm,
        "dataset": cell.part.row.dataset,
        "model": cell.part.row.model,
        "shift": None if cell.part.shift == "none" else cell.part.shift,
        "seed": cell.seed,
        "rounds": cell.rounds,
        "clients": 100,
        "accuracy": {"best": best, "final": final, "median": best},
        "rounds_to": {"0.85": 7},
        "loss": 0.25,
        "discrepancy": {"mean": 0.75, "variance": 0.0123},
        "traffic": {
            "transfers": 300,
            "relative_to_fedavg": 1.25,
            "down_bytes": 1000,
            "up_bytes": 2000,
        },
        "shifted": 3,
        "detected": 2,
        "migrations": 1,
        "placed": 100,
        "seconds": 1.5,
        "versions": {"flexcfl": "0.0", "torch": "2.0"},
        "processor": "Zeta 9",
    }


def result(of: TablePart, seed: int = 0, rounds: int = ROUNDS, best: float | None = 0.5) -> Result:
    """Return the result of a cell, of which there are no files."""
    cell = Cell(of, seed, rounds)
    accuracy = np.full(rounds, np.nan if best is None else best - 0.1)
    accuracy[0] = np.nan if best is None else best
    return Result(cell, summary(cell, best), {"accuracy": accuracy}, path=NOWHERE)


def write_run(folder: Path, cell: Cell, best: float = 0.5) -> Path:
    """Write what a finished run leaves of which is read; its accuracy rises evenly to the best."""
    path = folder / cell.folder
    path.mkdir(parents=True)
    (path / "experiment.toml").write_text(toml.written(cell.experiment))
    lines = [astuple(_figures(number, cell, best)) for number in range(1, cell.rounds + 1)]
    head = [item.name for item in fields(RoundFigures)]
    (path / "rounds.csv").write_text(tables.to_csv([head, *lines]))
    (path / "summary.json").write_text(json.dumps(summary(cell, best)))
    return path


def _figures(number: int, cell: Cell, best: float) -> RoundFigures:
    values: dict[str, Any] = {item.name: 0 for item in fields(RoundFigures)}
    unknown = ("honest_accuracy", "newcomers_accuracy", "auxiliary_accuracy", "shifted")
    values |= dict.fromkeys(unknown)
    measured = best * number / cell.rounds if number > 1 else None
    known = {"round": number, "accuracy": measured, "loss": 1 / number, "discrepancy": 0.5}
    return RoundFigures(**(values | known))
