"""Run a whole comparison, from its runs to its files, for the command and ``flexcfl.compare``."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TypeAlias

import numpy as np
from rich.console import Console

from flexcfl.comparison import display, table
from flexcfl.comparison.folder import comparison_folder, count_finished, with_old_names
from flexcfl.comparison.live import Take, live_display, progress_view
from flexcfl.comparison.plan import PlannedRun, check_number, own_settings, shared_settings
from flexcfl.comparison.result import Comparison
from flexcfl.comparison.spec import ComparisonSpec
from flexcfl.comparison.worker import RunWorker, run_in_this_process
from flexcfl.comparison.worker_messages import Done, Event, Remark
from flexcfl.comparison.worker_pool import core_count, pickled, run_in_processes
from flexcfl.data import Federation
from flexcfl.errors import FlexcflError
from flexcfl.lines import tell
from flexcfl.protocol import Flags
from flexcfl.record.folder import write
from flexcfl.record.run_folders import resume_command
from flexcfl.report.page import Report, html
from flexcfl.report.page.page import REPORT
from flexcfl.report.terminal.setting_rows import print_rows
from flexcfl.runner.callbacks import Callback
from flexcfl.runner.console_run import show_loading
from flexcfl.runner.stopping import Stop, StoppedError, stop_on_signals
from flexcfl.runner.tracking import trackers

CSV, JSON = "comparison.csv", "comparison.json"
Folder: TypeAlias = Path | Literal["new"] | None  # "new": one under comparisons; None: no files
Execute: TypeAlias = Callable[[Sequence[PlannedRun], Path | None, Stop, Take], None]


def run_comparison(
    spec: ComparisonSpec,
    console: Console,
    *,
    jobs: int | None,
    folder: Folder,
    federation: Federation | None = None,
    stoppable: bool = False,
    track: Sequence[str] = (),
    callbacks: Sequence[Callback] = (),
) -> Comparison:
    """Do all runs, ``jobs`` at once (by default one for each core), and compare them.

    The results are written into ``folder``. If the same comparison is there already, it is resumed.
    A ``stoppable`` comparison listens to signals. ``track`` names the trackers of every run. With
    ``callbacks``, which follow every run, all runs are done in this process.
    """
    if jobs is not None:
        check_number("jobs", jobs)
    trackers(track)  # a missing package is reported here, once
    runs, started = spec.runs(federation), monotonic()
    jobs = 1 if callbacks else min(jobs or core_count(), len(runs))
    execute = _executor(federation, jobs, track, callbacks)
    out = folder if isinstance(folder, Path) else None
    with (
        nullcontext() if folder is None else comparison_folder(out, spec, runs, federation) as path
    ):
        runs = with_old_names(path, runs) if path else runs
        before = count_finished(path, runs) if path else 0
        print_rows(display.settings_rows(runs, jobs, before), console)
        with (
            _report_kept_runs(path, spec, runs, console),
            stop_on_signals() if stoppable and path else nullcontext(Stop()) as stop,
            live_display(progress_view(runs), console) as show_progress,
        ):
            results = _Results(show_progress)
            execute(runs, path, stop, results.take)
        if path and len(results.done) < len(runs):
            how_far = f"with {len(results.done)} of {len(runs)} runs complete"
            raise StoppedError(how_far, path, stop)
        comparison = _compared(runs, results.done, path)
        if path and not (before == len(runs) and (path / JSON).is_file()):
            with show_loading(console, "Drawing the report"):
                for name, content in _files(runs, comparison, path):
                    write(path, name, content)
    display.show_results(comparison, console, seconds=monotonic() - started)
    return comparison


def _executor(
    federation: Federation | None, jobs: int, track: Sequence[str], callbacks: Sequence[Callback]
) -> Execute:
    """Return the function that does runs: in worker processes, or here if there are callbacks."""
    if callbacks:
        worker = RunWorker(federation, callbacks=callbacks, stoppable=False)
        return lambda runs, path, _stop, take: run_in_this_process(runs, worker, path, track, take)
    sent = pickled(federation)

    def in_processes(runs: Sequence[PlannedRun], path: Path | None, stop: Stop, take: Take) -> None:
        with closing(run_in_processes(runs, jobs, sent, path, stop, track)) as events:
            for event in events:
                take(event)

    return in_processes


@dataclass
class _Results:
    """The finished runs by folder name, and the remarks of all workers."""

    show_progress: Take
    done: dict[str, Done] = field(default_factory=dict)
    remarks: set[str] = field(default_factory=set)

    def take(self, event: Event | None) -> None:
        """Keep the result of a finished run, and print each remark once for all workers."""
        self.show_progress(event)
        if event is None:
            return
        run, message = event
        if isinstance(message, Done):
            self.done[run.folder] = message
        elif isinstance(message, Remark) and message.sentence not in self.remarks:
            self.remarks.add(message.sentence)
            # Also if the console is quiet; a live table makes room for it.
            sys.stderr.write(f"{message.sentence}\n")


def _compared(
    runs: Sequence[PlannedRun], done: Mapping[str, Done], folder: Path | None
) -> Comparison:
    by_name: dict[str, list[Done]] = {}
    for run in runs:
        by_name.setdefault(run.algorithm, []).append(done[run.folder])
    paths = tuple(folder / run.folder for run in runs) if folder else ()
    return Comparison.of(by_name, folder, paths)


@contextmanager
def _report_kept_runs(
    path: Path | None, spec: ComparisonSpec, runs: Sequence[PlannedRun], console: Console
) -> Iterator[None]:
    """If a comparison fails, say which runs are kept and how to resume."""
    try:
        yield
    except StoppedError:
        raise
    except BaseException as error:
        if path and any((path / run.folder).exists() for run in runs):
            done = count_finished(path, runs)
            whole = f"{done} of {len(runs)} runs are complete; they and t" if done else "T"
            where = f"{whole}he rounds so far of {'others' if done else 'all'} are in '{path}'."
            how = "Once that is fixed" if isinstance(error, FlexcflError) else "To go on"
            further = f" {how}: {resume_command(path)}" if spec.own_data is None else ""
            tell(where + further, console)
        raise


def _files(
    runs: Sequence[PlannedRun], comparison: Comparison, folder: Path
) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files; the last one marks the folder as complete."""
    summaries = [summary for each in comparison.compared.values() for summary in each]
    described = json.dumps(_described(runs, comparison), indent=2, allow_nan=False)
    yield CSV, table.csv(summaries).encode()
    report = Report.of(folder / run.folder for run in runs)
    yield REPORT, html(report, relative_to=folder).encode()
    yield JSON, f"{described}\n".encode()


def _described(runs: Sequence[PlannedRun], comparison: Comparison) -> dict[str, Any]:
    """Return the shared settings, and for each algorithm its own settings and its figures.

    ``compared`` describes the rounds that the accuracies cover: their number, first and last.
    """
    common = shared_settings([run.experiment for run in runs])
    experiments = {run.algorithm: run.experiment for run in runs}
    return {
        "seeds": sorted({run.seed for run in runs}),
        "settings": common,
        "compared": _rounds(comparison.measured),
        "algorithms": {
            row.algorithm: {
                "settings": own_settings(experiments[row.algorithm], common),
                "figures": row.figures(),
            }
            for row in comparison.table
        },
    }


def _rounds(measured: Flags) -> dict[str, int | None]:
    numbers = (np.flatnonzero(measured) + 1).tolist()
    first, last = (numbers[0], numbers[-1]) if numbers else (None, None)
    return {"rounds": len(numbers), "first_round": first, "last_round": last}
