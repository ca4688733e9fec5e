"""What was measured, as a table for people and as one for Markdown."""

from collections.abc import Sequence

from rich.table import Table

from flexcfl.benchmark.measure import Measured

__all__ = ["markdown", "table"]

COLUMNS = (
    "work",
    "plain loop",
    "flexcfl",
    "times as fast",
    "limit",
    "times the limit",
    "path",
)
CAPTION = (
    "Median microseconds per client step, one mini-batch of 10 of one client. The plain loop is "
    "PyTorch on one thread; the limit is the multiply-adds of the step at the rate of a large "
    "matrix product on all cores. Below 25 %, differences mean nothing."
)


def table(measured: Sequence[Measured]) -> Table:
    """Return a table for the terminal."""
    shown = Table(caption=CAPTION, caption_justify="left", box=None)
    for name in COLUMNS:
        shown.add_column(name, justify="left" if name in ("work", "path") else "right")
    for each in measured:
        shown.add_row(*_cells(each))
    return shown


def markdown(measured: Sequence[Measured]) -> str:
    """Return a table in Markdown."""
    rules = ["---" if name in ("work", "path") else "---:" for name in COLUMNS]
    rows = [COLUMNS, rules, *(_cells(each) for each in measured)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(each: Measured) -> tuple[str, ...]:
    return (
        each.work.title,
        f"{each.plain:,.0f}",
        _number(each.ours),
        f"{each.speedup:,.1f}",
        _number(each.limit),
        f"{each.distance:,.1f}",
        each.path,
    )


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
