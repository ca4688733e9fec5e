"""A whole reproduction: the runs that are missing, then the table and the picture of all."""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path

from rich.console import Console, Group
from rich.text import Text

from flexcfl.comparison.messages import Remark, Work
from flexcfl.comparison.pool import carried_out, cores, parcel
from flexcfl.comparison.progress import Progress
from flexcfl.errors import SettingsError
from flexcfl.lines import Folded, show, tell
from flexcfl.paper import leaving, origin
from flexcfl.paper.cells import Cell, Part
from flexcfl.paper.choices import NO_SHIFT, Chosen
from flexcfl.paper.progress import shown
from flexcfl.paper.results import Result, compared, finished
from flexcfl.paper.rows import ROUNDS, Row, named
from flexcfl.paper.sheet import Sheet
from flexcfl.paper.targets import Found, target_named
from flexcfl.record import places
from flexcfl.record.finished import is_finished
from flexcfl.record.folder import write
from flexcfl.record.lock import locked
from flexcfl.runner.conduct import loading
from flexcfl.runner.stopping import Stop, StoppedError, limited, listening

__all__ = ["Asked", "complete_rows", "conduct", "leave", "planned"]

AGAIN = "give the same command again"
# On these, without a shift and where all data are exchanged, most of the paper's claims rest.
CENTRAL = ("fedavg", "fedgroup", "flexcfl", "flexcfl-eta0.1", "flexcfl-eta5", "ifca")
CENTRAL_SHIFTS = (NO_SHIFT, "swap-all")


@dataclass(frozen=True)
class Asked:
    """What is to be reproduced: ``only`` names rows, none of them for the usual ones."""

    target: str
    only: tuple[str, ...] = ()
    seeds: int = 1
    rounds: int = ROUNDS
    chosen: Chosen = ()
    data: Path | None = None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that are asked for."""
        target = target_named(self.target)
        return named(self.only or target.usual or target.rows, target.rows)

    def parts(self, row: Row) -> list[Part]:
        """Return what the target needs of a row, with what was chosen."""
        parts = list(target_named(self.target).parts(row))
        if self.chosen and (not parts or any(part.chosen for part in parts)):
            raise SettingsError(
                f"There is nothing to choose for '{self.target}': leave --choose out."
            )
        if not parts and (self.seeds, self.rounds) != (1, ROUNDS):
            raise SettingsError(f"'{self.target}' has no runs: leave --seeds and --rounds out.")
        return [part.choosing(self.chosen) if self.chosen else part for part in parts]

    def cells(self) -> list[Cell]:
        """Return the runs that are asked for, seed by seed, what takes least time first."""
        return [
            Cell(part, seed, self.rounds, self.data)
            for row in sorted(self.rows, key=lambda row: row.seconds)
            for seed in range(self.seeds)
            for part in self.parts(row)
        ]


def conduct(
    asked: Sequence[Asked],
    console: Console,
    *,
    jobs: int | None,
    folder: Path,
    seconds: float | None = None,
) -> Sequence[Path]:
    """Carry out what is missing in ``folder``, and write and show what all of it gives.

    Runs of the same targets that are there from earlier are in the tables as well. With a limit of
    ``seconds`` runs let other programs go first, and what is not finished in time is gone on with
    by the next call.
    """
    cells = planned(asked)
    for cell in cells:
        cell.experiment  # noqa: B018  (whatever is wrong with it is told before a run begins)
    made, new = places.entered(folder)
    with _given_back(new), locked(made):
        _run(cells, console, jobs or cores(), folder, seconds)
        return [path for each in asked for path in leave(each, console, folder)]


def planned(asked: Sequence[Asked]) -> list[Cell]:
    """Return all runs in the order in which they are begun: what says most in least time first.

    Rows that take about as long go together, seed by seed: first the methods and shifts on which
    most of the paper's claims rest.
    """
    cells = dict.fromkeys(cell for each in asked for cell in each.cells())
    return sorted(cells, key=lambda cell: (_magnitude(cell), cell.seed, _rank(cell.part),
                                           cell.part.row.seconds))  # fmt: skip


def _magnitude(cell: Cell) -> int:
    """Return how long the row of a cell takes, roughly: in powers of four."""
    return int(math.log(cell.part.row.seconds, 4))


def _rank(part: Part) -> int:
    """Return how soon a part is to be run among the others of its row."""
    if part.method.name not in CENTRAL:
        return 2
    return 0 if part.shift in CENTRAL_SHIFTS else 1


def _run(
    cells: Sequence[Cell], console: Console, jobs: int, folder: Path, seconds: float | None
) -> None:
    parts = dict.fromkeys(cell.part for cell in cells)
    recorded = {each.cell: each for each in finished(folder, parts) if each.path is None}
    known = [(cell, recorded[cell].done) for cell in cells if cell in recorded]
    due = [cell for cell in cells if cell not in recorded]
    missing = [cell for cell in due if not is_finished(folder / cell.folder)]
    if not missing:
        return
    before, jobs = len(cells) - len(missing), min(jobs, len(missing))
    words = f"{len(cells)} runs, {before} of them done before" if before else f"{len(cells)} runs"
    tell(f"{words}, {jobs} at a time, in '{folder}'", console)
    progress = Progress(cells, partial(_cost, {cell.folder: cell for cell in cells}))
    low_priority = seconds is not None
    with listening() as stop, limited(stop, seconds):
        started = carried_out(due, jobs, parcel(None), folder, stop, low_priority=low_priority)
        with closing(started) as events:
            for run, what in shown(chain(known, events), cells, console):
                progress.take((run, what))
                if isinstance(what, Remark):
                    sys.stderr.write(f"{what.sentence}\n")
    if progress.done < len(cells):
        _stopped(progress, folder, stop, console)


def _cost(cells: Mapping[str, Cell], run: Work) -> float:
    return cells[run.folder].part.row.cost


def _stopped(progress: Progress, folder: Path, stop: Stop, console: Console) -> None:
    """Say how far the runs are when their time is over, and raise that they were asked to stop."""
    if not stop.timed_out:
        how_far = f"with {progress.done} of {len(progress.runs)} runs complete"
        raise StoppedError(how_far, folder, stop, AGAIN)
    tell(f"The time is over: {progress.text()}. To go on: {AGAIN}", console)


@contextmanager
def _given_back(new: Sequence[Path]) -> Iterator[None]:
    """Remove again the folders that were made if nothing has come into them."""
    try:
        yield
    except BaseException:
        places.remove(new)
        raise


def leave(asked: Asked, console: Console, folder: Path) -> list[Path]:
    """Write and show a target, made of all of its runs that are finished in ``folder``."""
    target = target_named(asked.target)
    with loading(console, f"Making {asked.target}"):
        found = Found(asked.rows, asked.data, _results(asked, folder))
        if not found.drawn and asked.cells():
            tell(f"{asked.target}: no row that was asked for is complete yet", console)
            return []
        made = target.make(found)
        results = found.results if made.sheet else found.drawn
    if made.sheet:
        _show(made.sheet, console)
    name = "-".join([asked.target, *(f"{choice}-{value}" for choice, value in asked.chosen)])
    by = origin.told(asked.target, asked.only, asked.chosen, results)
    with loading(console, "Drawing pictures and the page"):
        files = {
            f"{name}{ending}": content
            for ending, content in leaving.files(made, by, results, name, folder)
        }
    for file, content in files.items():
        write(folder, file, content)
        tell(f"written: {folder / file}", console)
    return [folder / file for file in files]


def _show(sheet: Sheet, console: Console) -> None:
    drawn = Text(sheet.drawn(), no_wrap=True, overflow="ignore")
    notes = (Folded(Text(note)) for note in sheet.notes)
    show(Group(drawn, "", *notes, ""), console)


def complete_rows(asked: Asked, folder: Path) -> tuple[str, ...]:
    """Return the names of those rows that can be shown."""
    return tuple(
        row.name for row in asked.rows if _results(replace(asked, only=(row.name,)), folder)
    )


def _results(asked: Asked, folder: Path) -> list[Result]:
    """Return the finished runs of a target, also of rows and seeds that were not asked for.

    They are those that commands can ask for: of a row all parts, with the seeds from 0 on. Runs
    that only other targets need may be there as well.
    """
    target, complete = target_named(asked.target), list[Result]()
    for row in named(target.rows, target.rows):
        parts = dict.fromkeys(asked.parts(row))
        complete += _complete(list(finished(folder, parts)), len(parts))
    return compared(complete)


def _complete(results: Sequence[Result], parts: int) -> list[Result]:
    """Return the runs of those seeds, counted from 0, with which so many parts are there."""
    runs = Counter((result.cell.rounds, result.cell.seed) for result in results)
    seeds = {
        rounds: next(seed for seed in count() if runs[rounds, seed] < parts) for rounds, _ in runs
    }
    return [result for result in results if result.cell.seed < seeds[result.cell.rounds]]
