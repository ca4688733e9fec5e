"""What a person sees before and after a run: its settings, its sizes, its results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flexcfl.runner.prepare import Prepared
from flexcfl.runner.resolve import Resolved
from flexcfl.runner.result import Run

__all__ = ["Rows", "results", "settings", "show", "sizes"]

Rows: TypeAlias = Mapping[str, Text]

WIDTH = len("discrepancy")


def show(rows: Rows, console: Console) -> None:
    """Print rows, folded to fit a terminal; elsewhere a row is one line, however long."""
    if console.is_terminal:
        console.print(_grid(rows))
        return
    for name, text in rows.items():
        console.print(Text(f"{name:{WIDTH}}  ") + text, soft_wrap=True)


def settings(resolved: Resolved, file: Path | None) -> Rows:
    """Return all settings, those that were given in bold and with their source."""
    head = {"file": Text(str(file))} if file else {}
    rows = {
        table: Text(", ").join(
            _setting(key, value, resolved.sources.get(f"{table}.{key}"))
            for key, value in keys.items()
        )
        for table, keys in resolved.experiment.tables().items()
    }
    return head | rows


def _setting(key: str, value: Any, source: str | None) -> Text:
    text = str(value) if key == "name" else f"{key} {value}"
    return Text(f"{text} ({source})", style="bold") if source else Text(text)


def sizes(prepared: Prepared) -> Rows:
    """Return how large the federation and the model are."""
    federation = prepared.federation
    clients = f"{federation.clients:,} clients"
    train, test = int(federation.train.sizes.sum()), int(federation.test.sizes.sum())
    examples = f"{train:,} training and {test:,} test examples"
    parameters = f"{prepared.engine.parameters:,} parameters"
    return {"sizes": Text(f"{clients}, {examples}, {parameters}")}


def results(run: Run) -> Rows:
    """Return the figures of a finished run and where they are."""
    summary, accuracy = run.summary, run.accuracy
    rows = {
        "accuracy": f"best {_percent(accuracy.best)}, final {_percent(accuracy.final)}, "
        f"median {_percent(accuracy.median)}",
        "reached": _reached(summary["rounds_to"]),
        "loss": _number(summary["loss"]),
        "discrepancy": _number(summary["discrepancy"]["mean"]),
        "time": f"{summary['seconds']:.1f} s",
        "folder": str(run.folder) if run.folder else "none",
    }
    return {name: Text(text) for name, text in rows.items()}


def _reached(rounds_to: Mapping[str, int | None]) -> str:
    reached = [
        f"{float(threshold):.0%} in round {number}"
        for threshold, number in rounds_to.items()
        if number is not None
    ]
    return ", ".join(reached) or f"never {float(min(rounds_to)):.0%}"


def _percent(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"


def _grid(rows: Rows) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True, min_width=WIDTH)
    grid.add_column(overflow="fold")
    for name, text in rows.items():
        grid.add_row(name, text)
    return grid
