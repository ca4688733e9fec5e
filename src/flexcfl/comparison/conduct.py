"""A whole comparison, from its runs to its files: for the command and for ``flexcfl.compare``."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Literal, TypeAlias

from rich.console import Console

from flexcfl.comparison import display, leaving
from flexcfl.comparison.asked import Asked
from flexcfl.comparison.folder import entered, finished, within
from flexcfl.comparison.messages import Done, Remark
from flexcfl.comparison.plan import Planned
from flexcfl.comparison.pool import Event, carried_out, parcel
from flexcfl.comparison.process import cores
from flexcfl.comparison.progress import shown
from flexcfl.comparison.result import Comparison
from flexcfl.data import Federation
from flexcfl.errors import FlexcflError
from flexcfl.lines import tell
from flexcfl.record.folder import write
from flexcfl.record.places import command
from flexcfl.report.terminal.settings import show
from flexcfl.runner.conduct import loading
from flexcfl.runner.stopping import Stop, StoppedError, listening
from flexcfl.runner.tracking import trackers

__all__ = ["Folder", "conduct"]

Folder: TypeAlias = Path | Literal["new"] | None  # "new" is one under comparisons; None for nothing


def conduct(
    asked: Asked,
    console: Console,
    *,
    jobs: int | None,
    folder: Folder,
    federation: Federation | None = None,
    stoppable: bool = False,
    track: Sequence[str] = (),
) -> Comparison:
    """Carry out runs, so many at once (by default one for each core), and hold them together.

    What they show is left in ``folder``. If this very comparison is in it already, it goes on. A
    ``stoppable`` one listens to signals. ``track`` are the names of trackers for every run.
    """
    trackers(track)  # so that what they lack is told here, and once
    runs, started = asked.runs(federation), monotonic()
    sent, jobs = parcel(federation), min(jobs or cores(), len(runs))
    out = folder if isinstance(folder, Path) else None
    with nullcontext() if folder is None else entered(out, asked, runs, federation) as path:
        runs = within(path, runs) if path else runs
        before = finished(path, runs) if path else 0
        show(display.settings(runs, jobs, before), console)
        with (
            _told_where(path, asked, runs, console),
            listening() if stoppable and path else nullcontext(Stop()) as stop,
        ):
            with closing(carried_out(runs, jobs, sent, path, stop, track)) as events:
                done = _collected(shown(events, runs, console))
            if path and len(done) < len(runs):
                how_far = f"with {len(done)} of {len(runs)} runs complete"
                raise StoppedError(how_far, path, stop)
        comparison = _held_together(runs, done, path)
        if path and not (before == len(runs) and (path / leaving.JSON).is_file()):
            with loading(console, "Drawing the report"):
                for name, content in leaving.files(runs, comparison, path):
                    write(path, name, content)
    display.show_results(comparison, console, seconds=monotonic() - started)
    return comparison


def _collected(events: Iterable[Event]) -> Mapping[str, Done]:
    done: dict[str, Done] = {}
    told: set[str] = set()
    for run, what in events:
        if isinstance(what, Done):
            done[run.folder] = what
        elif isinstance(what, Remark) and what.sentence not in told:  # by another process
            told.add(what.sentence)
            # Also where nothing else is to be shown; a live table makes room for it.
            sys.stderr.write(f"{what.sentence}\n")
    return done


def _held_together(
    runs: Sequence[Planned], done: Mapping[str, Done], folder: Path | None
) -> Comparison:
    by_name: dict[str, list[Done]] = {}
    for run in runs:
        by_name.setdefault(run.algorithm, []).append(done[run.folder])
    paths = tuple(folder / run.folder for run in runs) if folder else ()
    return Comparison.of(by_name, folder, paths)


@contextmanager
def _told_where(
    path: Path | None, asked: Asked, runs: Sequence[Planned], console: Console
) -> Iterator[None]:
    """Say what is there if a comparison does not come to its end."""
    try:
        yield
    except StoppedError:
        raise
    except BaseException as error:
        if path and any((path / run.folder).exists() for run in runs):
            done = finished(path, runs)
            whole = f"{done} of {len(runs)} runs are complete; they and t" if done else "T"
            where = f"{whole}he rounds so far of {'others' if done else 'all'} are in '{path}'."
            how = "Once that is mended" if isinstance(error, FlexcflError) else "To go on"
            further = f" {how}: {command(path)}" if asked.own_data is None else ""
            tell(where + further, console)
        raise
