"""What a person sees before and after a comparison: its settings and its table."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flexcfl import lines
from flexcfl.comparison.advance import clock
from flexcfl.comparison.leaving import REPORT, SVG
from flexcfl.comparison.plan import Planned, own, shared
from flexcfl.comparison.result import Comparison
from flexcfl.comparison.table import Row
from flexcfl.errors import printable
from flexcfl.lines import whole
from flexcfl.metrics import Figure
from flexcfl.runner.display import Rows, advice, diverged, setting, show

__all__ = ["html", "results", "settings", "show_results"]

NARROW = 80  # below so many columns a terminal has room for accuracy and transfers only
COLUMNS = ("best", "final", "transfers", "MB", "migrations", "seconds")
PLUS_MINUS = "\N{PLUS-MINUS SIGN}"


def settings(runs: Sequence[Planned], jobs: int, before: int = 0) -> Rows:
    """Return what all runs have in common, and then what each algorithm has of its own.

    So many runs as ``before`` says were complete before.
    """
    common = shared([run.experiment for run in runs])
    seeds = sorted({run.seed for run in runs})
    rows = {table: _listed(keys) for table, keys in common.items() if keys}
    told = ", ".join(map(str, seeds)) if len(seeds) < 4 else f"0 to {seeds[-1]}"
    rows["seeds"] = Text(told)
    rows["runs"] = Text(f"{len(runs)}, {f'{jobs} at a time' if jobs > 1 else 'one by one'}")
    if before:
        rows["resumed"] = Text(f"{before} of {len(runs)} runs were complete already")
    for run in runs if "name" not in common["algorithm"] else ():
        tables = own(run.experiment, common)
        del tables["algorithm"]["name"]  # with which the row begins
        words = [
            Text(f"{table} " if "name" in keys else "") + _listed(keys)
            for table, keys in tables.items()
            if keys
        ]
        rows[run.algorithm] = Text(", ").join(words) if words else Text("no options")
    return rows


def _listed(keys: Mapping[str, Any]) -> Text:
    return Text(", ").join(setting(key, value) for key, value in keys.items())


def results(rows: Sequence[Row], sign: str, narrow: bool) -> Table:
    """Return the final table; ``sign`` stands between a mean and its spread."""
    columns = 3 if narrow else len(COLUMNS)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("algorithm", no_wrap=True)
    for name in COLUMNS[:columns]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.algorithm, *_cells(row, sign)[:columns])
    return table


def html(rows: Sequence[Row]) -> str:
    """Return the table as notebooks show it."""
    head = "".join(f"<th>{name}</th>" for name in ("algorithm", *COLUMNS))
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
        for line in ([row.algorithm, *_cells(row, PLUS_MINUS)] for row in rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cells(row: Row, sign: str) -> list[str]:
    return [
        _accuracy(row.best, sign),
        _accuracy(row.final, sign),
        _mean(row.relative_to_fedavg, "x{:.2f}"),
        _megabytes(row),
        _mean(row.migrations, "{:,.0f}"),
        _mean(row.seconds, "{:,.1f}"),
    ]


def _accuracy(figure: Figure, sign: str) -> str:
    spread = "" if figure.spread is None else f" {sign} {figure.spread * 100:.1f}"
    return _mean(figure, "{:.1f}", 100) + spread


def _megabytes(row: Row) -> str:
    down, up = row.down_bytes.mean, row.up_bytes.mean
    return "-" if down is None or up is None else f"{(down + up) / 1e6:,.1f}"


def _mean(figure: Figure, form: str, scale: float = 1.0) -> str:
    return "-" if figure.mean is None else form.format(figure.mean * scale)


def show_results(comparison: Comparison, console: Console, seconds: float) -> None:
    """Print the table, how to read it, and where everything is."""
    if console.quiet:
        return
    sign = "+-" if console.options.ascii_only else PLUS_MINUS
    narrow = console.is_terminal and console.width < NARROW
    lines.show(results(comparison.table, sign, narrow), console)
    over = f"mean {sign} standard deviation over the seeds; " if comparison.seeds > 1 else ""
    rows = {
        "accuracy": f"in %, {over}best round, and mean of the last ten rounds as final",
        "honest": _honest(comparison, sign),
        "traffic": "transfers of models as a multiple of FedAvg's"
        + ("" if narrow else "; MB down and up together"),
        "unknown": _unmeasured(comparison),
        "warning": _warning(comparison),
        "time": clock(seconds),
    }
    told = {name: Text(text) for name, text in rows.items() if text}
    show({**told, **_paths(comparison.folder)}, console)


def _paths(folder: Path | None) -> Rows:
    if folder is None:
        return {"folder": Text("none")}
    paths = {"folder": folder, "picture": folder / SVG, "report": folder / REPORT}
    return {name: whole(printable(str(path))) for name, path in paths.items()}


def _honest(comparison: Comparison, sign: str) -> str:
    """Return the accuracies of clients that do not attack, or nothing where none does."""
    told = []
    for name, runs in comparison.runs.items():
        best, final = (
            Figure.of((run["honest"] or {}).get(kind) for run in runs) for kind in ("best", "final")
        )
        if best.mean is not None:
            told.append(f"{name} {_accuracy(best, sign)}, final {_accuracy(final, sign)}")
    return f"without the clients that attack: {'; '.join(told)}" if told else ""


def _unmeasured(comparison: Comparison) -> str:
    """Say of algorithms without an accuracy why they have none."""
    without = [row.algorithm for row in comparison.table if row.best.mean is None]
    if not without:
        return ""
    worst = min(
        (run for name in without for run in comparison.runs[name]), key=lambda run: run["placed"]
    )
    return (
        f"no accuracy of {', '.join(without)}, because there were runs in which not all clients "
        f"had a group by the end, such as {worst['placed']:,} of {worst['clients']:,}: run more "
        "rounds (--rounds)"
    )


def _warning(comparison: Comparison) -> str:
    """Say of which algorithms training diverged in most rounds of a run, or nothing."""
    told, attacked = [], False
    for name, runs in comparison.runs.items():
        wrong = [run for run in runs if diverged(run)]
        told += [f"{name} ({len(wrong)} of {len(runs)} seeds)"] if wrong else []
        attacked |= any(run["attack"] is not None for run in wrong)
    where = f"in most rounds with {', '.join(told)}"
    return f"training diverged {where}: {advice(attacked)}" if told else ""
