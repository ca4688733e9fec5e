"""The table of a comparison: one row per algorithm, with mean and spread over the seeds.

On a terminal, in a pipe and in a notebook, rows are ranked by final accuracy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from flexcfl.comparison.worker_messages import Done
from flexcfl.protocol import Flags
from flexcfl.record import csv_tables
from flexcfl.record.metrics import MeanDeviation, rounds_text
from flexcfl.record.summary import Summary, accuracy_of

if TYPE_CHECKING:
    from flexcfl.comparison.result import Comparison

# The columns of comparison.csv, with the keys of their values in a run's summary.
CSV_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "algorithm": ("algorithm",),
    "seed": ("seed",),
    "best": ("accuracy", "best"),
    "final": ("accuracy", "final"),
    "median": ("accuracy", "median"),
    "honest_best": ("honest", "best"),
    "honest_final": ("honest", "final"),
    "epsilon": ("privacy", "epsilon"),
    "transfers": ("traffic", "transfers"),
    "relative_to_fedavg": ("traffic", "relative_to_fedavg"),
    "down_bytes": ("traffic", "down_bytes"),
    "up_bytes": ("traffic", "up_bytes"),
    "shifted": ("shifted",),
    "detected": ("detected",),
    "migrations": ("migrations",),
    "seconds": ("seconds",),
}

COLUMNS = ("final", "best", "traffic", "MB", "migrations", "seconds")
NARROW = 3  # columns on a narrow terminal
PLUS_MINUS = "\N{PLUS-MINUS SIGN}"


@dataclass(frozen=True)
class AlgorithmResult:
    """The result of one algorithm in a comparison, a row of ``Comparison.table``.

    Each figure has a ``mean`` and a ``spread`` (the standard deviation) over the seeds.

    Attributes:
        algorithm: The name of the algorithm.
        best: Accuracy in the best of the rounds in which every run is measured.
        final: Mean accuracy over the last ten of these rounds.
        relative_to_fedavg: Model transfers as a multiple of FedAvg's.
        down_bytes: Bytes that the server would send over a network.
        up_bytes: Bytes that the clients would send.
        migrations: Number of moves of clients between groups.
        seconds: Duration of a run.

    """

    algorithm: str
    best: MeanDeviation
    final: MeanDeviation
    relative_to_fedavg: MeanDeviation
    down_bytes: MeanDeviation
    up_bytes: MeanDeviation
    migrations: MeanDeviation
    seconds: MeanDeviation

    def figures(self) -> dict[str, Any]:
        """Return the figures by name, as plain values."""
        return {name: figure for name, figure in asdict(self).items() if name != "algorithm"}


def over_rounds(done: Done, rounds: Flags) -> Summary:
    """Return the summary of a run with its accuracies over these rounds only."""
    accuracy, honest = accuracy_of(done.accuracy, rounds), accuracy_of(done.honest, rounds)
    return {
        **done.summary,
        "accuracy": accuracy,
        "honest": None if honest["best"] is None else honest,
    }


def ranked(rows: Iterable[AlgorithmResult]) -> list[AlgorithmResult]:
    """Return rows with the highest final accuracy first, and rows without one last."""
    return sorted(rows, key=lambda row: row.final.rank)


def algorithm_result(algorithm: str, summaries: Sequence[Summary]) -> AlgorithmResult:
    """Return the result of an algorithm from the summaries of its runs, one per seed."""
    names = [name for name in AlgorithmResult.__dataclass_fields__ if name != "algorithm"]
    figures = {name: MeanDeviation.of(_value(each, name) for each in summaries) for name in names}
    return AlgorithmResult(algorithm, **figures)


def csv(summaries: Iterable[Summary]) -> str:
    """Return the text of comparison.csv, with a line for each run."""
    return csv_tables.to_csv(
        [list(CSV_COLUMNS), *([_value(each, name) for name in CSV_COLUMNS] for each in summaries)]
    )


def _value(summary: Summary, name: str) -> Any:
    """Return the value of a column in a summary."""
    found: Any = summary
    for key in CSV_COLUMNS[name]:
        found = None if found is None else found[key]
    return found


def terminal_table(rows: Sequence[AlgorithmResult], sign: str, narrow: bool) -> Table:
    """Return the table with the best row in bold; ``sign`` joins a mean and its spread."""
    columns = NARROW if narrow else len(COLUMNS)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("algorithm", no_wrap=True)
    for name in COLUMNS[:columns]:
        table.add_column(name, justify="right", no_wrap=True)
    for row, first in _ranked(rows):
        cells = _cells(row, sign)[:columns]
        table.add_row(row.algorithm, *cells, style="bold" if first else None)
    return table


def html(comparison: "Comparison") -> str:
    """Return the table and its legend for a notebook."""
    head = "".join(f"<th>{name}</th>" for name in ("algorithm", *COLUMNS))
    lines = "".join(_line(row, first) for row, first in _ranked(comparison.table))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    texts = legend(comparison, PLUS_MINUS).items()
    notes = "".join(f"<p>{name}: {escape(text)}</p>" for name, text in texts if text)
    return f"<div>{table}{notes}</div>"


def _line(row: AlgorithmResult, first: bool) -> str:
    cells = [row.algorithm, *_cells(row, PLUS_MINUS)]
    style = ' style="font-weight:bold"' if first else ""
    return f"<tr{style}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def legend(comparison: "Comparison", sign: str, narrow: bool = False) -> dict[str, str]:
    """Return notes on the table: the ranking, and the rounds that the accuracies cover."""
    spread = f"; mean {sign} standard deviation over the seeds" if comparison.seeds > 1 else ""
    return {
        "ranked": "by final, the mean of the last ten rounds; best is the best single round",
        "accuracy": f"in %, {rounds_text(comparison.measured, len(comparison.table))}{spread}",
        "honest": _honest(comparison, sign),
        "traffic": "model transfers as a multiple of FedAvg's"
        + ("" if narrow else "; MB down and up together"),
    }


def _honest(comparison: "Comparison", sign: str) -> str:
    """Return the accuracies without the clients that attack, or nothing if none attacks."""
    parts = []
    for row in ranked(comparison.table):
        honest = [run["honest"] for run in comparison.compared[row.algorithm]]
        final = MeanDeviation.of(each["final"] if each else None for each in honest)
        best = MeanDeviation.of(each["best"] if each else None for each in honest)
        if best.mean is not None:
            figures = f"final {_accuracy(final, sign)}, best {_accuracy(best, sign)}"
            parts.append(f"{row.algorithm} {figures}")
    return f"without the clients that attack: {'; '.join(parts)}" if parts else ""


def _ranked(rows: Sequence[AlgorithmResult]) -> list[tuple[AlgorithmResult, bool]]:
    """Return ranked rows, each with whether it is first; equal rows are all first."""
    order = ranked(rows)
    known = [row for row in order if row.final.mean is not None]
    return [(row, row.final.rank == known[0].final.rank if known else False) for row in order]


def _cells(row: AlgorithmResult, sign: str) -> list[str]:
    return [
        _accuracy(row.final, sign),
        _accuracy(row.best, sign),
        _mean(row.relative_to_fedavg, "x{:.2f}"),
        _megabytes(row),
        _mean(row.migrations, "{:,.0f}"),
        _mean(row.seconds, "{:,.1f}"),
    ]


def _accuracy(figure: MeanDeviation, sign: str) -> str:
    spread = "" if figure.spread is None else f" {sign} {figure.spread * 100:.1f}"
    return _mean(figure, "{:.1f}", 100) + spread


def _megabytes(row: AlgorithmResult) -> str:
    down, up = row.down_bytes.mean, row.up_bytes.mean
    return "-" if down is None or up is None else f"{(down + up) / 1e6:,.1f}"


def _mean(figure: MeanDeviation, form: str, scale: float = 1.0) -> str:
    return "-" if figure.mean is None else form.format(figure.mean * scale)
