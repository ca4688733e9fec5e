"""What the terminal shows before and after a comparison: its settings and its table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from flexcfl import lines
from flexcfl.comparison.plan import PlannedRun, own_settings, shared_settings
from flexcfl.comparison.progress import clock
from flexcfl.comparison.result import Comparison
from flexcfl.comparison.table import PLUS_MINUS, legend, terminal_table
from flexcfl.errors import printable
from flexcfl.lines import unbroken
from flexcfl.report.page.page import REPORT
from flexcfl.report.terminal.setting_rows import Rows, print_rows, setting_text
from flexcfl.report.terminal.summary_text import divergence_advice, mostly_diverged

NARROW = 80  # columns: a narrower terminal has room for accuracy and traffic only


def settings_rows(runs: Sequence[PlannedRun], jobs: int, before: int = 0) -> Rows:
    """Return the settings that all runs share, and then those of each algorithm.

    ``before`` is the number of runs that an earlier call has completed.
    """
    common = shared_settings([run.experiment for run in runs])
    seeds = sorted({run.seed for run in runs})
    rows = {table: _listed(keys) for table, keys in common.items() if keys}
    rows["seeds"] = Text(", ".join(map(str, seeds)) if len(seeds) < 4 else f"0 to {seeds[-1]}")
    rows["runs"] = Text(f"{len(runs)}, {f'{jobs} at a time' if jobs > 1 else 'one by one'}")
    if before:
        rows["resumed"] = Text(f"{before} of {len(runs)} runs were complete already")
    for run in runs if "name" not in common["algorithm"] else ():
        tables = own_settings(run.experiment, common)
        del tables["algorithm"]["name"]  # the row begins with it
        parts = [
            Text(f"{table} " if "name" in keys else "") + _listed(keys)
            for table, keys in tables.items()
            if keys
        ]
        rows[run.algorithm] = Text(", ").join(parts) if parts else Text("no options")
    return rows


def _listed(keys: Mapping[str, Any]) -> Text:
    return Text(", ").join(setting_text(key, value) for key, value in keys.items())


def show_results(comparison: Comparison, console: Console, seconds: float) -> None:
    """Print the table, its legend, and the paths of the files."""
    if console.quiet:
        return
    sign = "+-" if console.options.ascii_only else PLUS_MINUS
    narrow = console.is_terminal and console.width < NARROW
    lines.show(terminal_table(comparison.table, sign, narrow), console)
    rows = {
        **legend(comparison, sign, narrow),
        "unknown": _unmeasured(comparison),
        "warning": _warning(comparison),
        "time": clock(seconds),
    }
    texts = {name: Text(text) for name, text in rows.items() if text}
    print_rows({**texts, **_paths(comparison.folder)}, console)


def _paths(folder: Path | None) -> Rows:
    if folder is None:
        return {"folder": Text("none")}
    paths = {"folder": folder, "report": folder / REPORT}
    return {name: unbroken(printable(str(path))) for name, path in paths.items()}


def _unmeasured(comparison: Comparison) -> str:
    """Say which algorithms have no accuracy, and why."""
    never = {
        name: [run for run in runs if run["accuracy"]["best"] is None]
        for name, runs in comparison.runs.items()
    }
    without = [name for name, runs in never.items() if runs]
    if not without:
        return ""
    worst = min((run for runs in never.values() for run in runs), key=lambda run: run["placed"])
    return (
        f"no accuracy of {', '.join(without)}, because there were runs in which not all clients "
        f"had a group by the end, such as {worst['placed']:,} of {worst['clients']:,}: run more "
        "rounds (--rounds)"
    )


def _warning(comparison: Comparison) -> str:
    """Name the algorithms whose training diverged in most rounds of a run, if any."""
    diverging, attacked = [], False
    for name, runs in comparison.runs.items():
        wrong = [run for run in runs if mostly_diverged(run)]
        diverging += [f"{name} ({len(wrong)} of {len(runs)} seeds)"] if wrong else []
        attacked |= any(run["attack"] is not None for run in wrong)
    where = f"in most rounds with {', '.join(diverging)}"
    return f"training diverged {where}: {divergence_advice(attacked)}" if diverging else ""
