"""Do the missing runs of a reproduction, and make its tables and pictures."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path

from rich.console import Console, Group
from rich.text import Text

from flexcfl.comparison.worker_messages import Done, Remark
from flexcfl.comparison.worker_pool import core_count, pickled, run_in_processes
from flexcfl.lines import Folded, show, tell
from flexcfl.paper import target_files
from flexcfl.paper.catalogue import NO_SHIFT, rows_named
from flexcfl.paper.cells import Cell, TablePart
from flexcfl.paper.comparison_table import ComparisonTable
from flexcfl.paper.progress_matrix import progress_of, show_matrix
from flexcfl.paper.results import Result, finished_results, over_shared_rounds
from flexcfl.paper.targets import Request, target_named
from flexcfl.record import run_folders
from flexcfl.record.folder import write
from flexcfl.record.lock import locked
from flexcfl.record.reading import is_finished
from flexcfl.runner.console_run import show_loading
from flexcfl.runner.stopping import StoppedError, stop_after, stop_on_signals

AGAIN = "give the same command again"
# Most of the paper's claims rest on these methods, without a shift and under swap-all.
CENTRAL = ("fedavg", "fedgroup", "flexcfl", "flexcfl-eta0.1", "flexcfl-eta5", "ifca")
CENTRAL_SHIFTS = (NO_SHIFT, "swap-all")


def make_targets(
    requests: Sequence[Request],
    console: Console,
    *,
    jobs: int | None,
    folder: Path,
    seconds: float | None = None,
) -> Sequence[Path]:
    """Do the runs that are missing in ``folder``, and write and show the requested targets.

    The tables include runs of the same targets from earlier calls. With a limit of ``seconds``,
    runs let other programs go first, and the next call resumes those that are not finished in time.
    """
    cells = planned_cells(requests)
    for cell in cells:
        cell.experiment  # noqa: B018  (raises errors in settings before a run begins)
    made, new = run_folders.make_folder(folder)
    try:
        with locked(made):
            _run(cells, console, jobs or core_count(), folder, seconds)
            return [path for each in requests for path in write_target(each, console, folder)]
    except BaseException:
        run_folders.remove(new)
        raise


def planned_cells(requests: Sequence[Request]) -> list[Cell]:
    """Return all runs in the order in which they begin: short and important ones first.

    Rows of similar duration (in powers of four) go together, seed by seed, and among them the
    methods and shifts on which most of the paper's claims rest come first.
    """
    cells = dict.fromkeys(cell for each in requests for cell in each.cells())

    def order(cell: Cell) -> tuple[float, ...]:
        seconds = cell.part.row.seconds
        return int(math.log(seconds, 4)), cell.seed, _rank(cell.part), seconds

    return sorted(cells, key=order)


def _rank(part: TablePart) -> int:
    """Return the rank of a part among the others of its row; lower ranks run first."""
    if part.method.name not in CENTRAL:
        return 2
    return 0 if part.shift in CENTRAL_SHIFTS else 1


def _run(
    cells: Sequence[Cell], console: Console, jobs: int, folder: Path, seconds: float | None
) -> None:
    recorded = {
        each.cell: Done(each.summary, each.rounds["accuracy"], before=True)
        for each in finished_results(folder, [cell.part for cell in cells])
        if each.path is None
    }
    known = [(cell, recorded[cell]) for cell in cells if cell in recorded]
    due = [cell for cell in cells if cell not in recorded]
    missing = [cell for cell in due if not is_finished(folder / cell.folder)]
    if not missing:
        return
    before, jobs = len(cells) - len(missing), min(jobs, len(missing))
    words = f"{len(cells)} runs, {before} of them done before" if before else f"{len(cells)} runs"
    tell(f"{words}, {jobs} at a time, in '{folder}'", console)
    progress, low_priority = progress_of(cells), seconds is not None
    with stop_on_signals() as stop, stop_after(stop, seconds):
        started = run_in_processes(
            due, jobs, pickled(None), folder, stop, low_priority=low_priority
        )
        with closing(started) as events:
            for run, what in show_matrix(chain(known, events), cells, console):
                progress.take((run, what))
                if isinstance(what, Remark):
                    sys.stderr.write(f"{what.sentence}\n")
    if progress.done == len(cells):
        return
    if not stop.timed_out:
        how_far = f"with {progress.done} of {len(cells)} runs complete"
        raise StoppedError(how_far, folder, stop, AGAIN)
    tell(f"The time is over: {progress.text()}. To go on: {AGAIN}", console)


def write_target(request: Request, console: Console, folder: Path) -> list[Path]:
    """Write and show a target from all of its finished runs in ``folder``."""
    with show_loading(console, f"Making {request.target}"):
        results = _results(request, folder)
        if not request.drawn(results) and request.cells():
            tell(f"{request.target}: no row that was asked for is complete yet", console)
            return []
        made = target_named(request.target).make(request, results)
        results = results if made.table else request.drawn(results)
    if made.table:
        _show(made.table, console)
    name = "-".join([request.target, *(f"{choice}-{value}" for choice, value in request.chosen)])
    by = target_files.origin_notes(request.target, request.only, request.chosen, results)
    with show_loading(console, "Drawing pictures and the page"):
        files = {
            folder / f"{name}{ending}": content
            for ending, content in target_files.files(made, by, results, name, folder)
        }
    for path, content in files.items():
        write(folder, path.name, content)
        tell(f"written: {path}", console)
    return list(files)


def _show(table: ComparisonTable, console: Console) -> None:
    drawn = Text(table.drawn(), no_wrap=True, overflow="ignore")
    notes = (Folded(Text(note)) for note in table.notes)
    show(Group(drawn, "", *notes, ""), console)


def complete_rows(request: Request, folder: Path) -> tuple[str, ...]:
    """Return the names of the rows with enough finished runs to show."""
    return tuple(
        row.name for row in request.rows if _results(replace(request, only=(row.name,)), folder)
    )


def _results(request: Request, folder: Path) -> list[Result]:
    """Return the finished runs of a target, including rows and seeds that were not requested.

    For each row they are all parts, with the seeds from 0 on, as a command requests them. Runs that
    only other targets need may be in the folder as well.
    """
    rows, complete = target_named(request.target).rows, list[Result]()
    for row in rows_named(rows, rows):
        parts = dict.fromkeys(request.parts(row))
        complete += _complete(list(finished_results(folder, parts)), len(parts))
    return over_shared_rounds(complete)


def _complete(results: Sequence[Result], parts: int) -> list[Result]:
    """Return the runs of the seeds, counted from 0, that have this number of parts."""
    runs = Counter((result.cell.rounds, result.cell.seed) for result in results)
    return [
        result
        for result in results
        if all(runs[result.cell.rounds, seed] == parts for seed in range(result.cell.seed + 1))
    ]
