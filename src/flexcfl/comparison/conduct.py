"""A whole comparison, from its runs to its files: for the command and for ``flexcfl.compare``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Literal, TypeAlias

import numpy as np
from rich.console import Console

from flexcfl.comparison import display, leaving, table
from flexcfl.comparison.folder import claimed, finished
from flexcfl.comparison.plan import Planned
from flexcfl.comparison.pool import Event, carried_out
from flexcfl.comparison.process import cores
from flexcfl.comparison.progress import shown
from flexcfl.comparison.result import Comparison
from flexcfl.comparison.worker import Done
from flexcfl.runner.display import show
from flexcfl.runner.folder import write
from flexcfl.runner.places import check_free

__all__ = ["Folder", "conduct"]

Folder: TypeAlias = Path | Literal["new"] | None  # "new" is one under comparisons; None for nothing


def conduct(
    runs: Sequence[Planned],
    console: Console,
    *,
    jobs: int | None,
    folder: Folder,
    federation: bytes,
) -> Comparison:
    """Carry out runs, so many at once (by default one for each core), and hold them together.

    ``federation`` is a parcel for the processes. What they show is left in ``folder``.
    """
    out = folder if isinstance(folder, Path) else None
    if out:
        check_free(out)
    jobs, started = min(jobs or cores(), len(runs)), monotonic()
    show(display.settings(runs, jobs), console)
    with (
        nullcontext(None) if folder is None else claimed(out, runs[0].experiment) as path,
        _told_where(path, len(runs), console),
    ):
        with closing(carried_out(runs, jobs, federation, path)) as events:
            done = _collected(shown(events, runs, console))
        comparison = _held_together(runs, done, path)
        if path:
            for name, content in leaving.files(runs, comparison).items():
                write(path, name, content)
    display.show_results(comparison, console, seconds=monotonic() - started)
    return comparison


def _collected(events: Iterable[Event]) -> Mapping[str, Done]:
    return {run.folder: what for run, what in events if isinstance(what, Done)}


def _held_together(
    runs: Sequence[Planned], done: Mapping[str, Done], folder: Path | None
) -> Comparison:
    by_name: dict[str, list[Done]] = {}
    for run in runs:
        by_name.setdefault(run.algorithm, []).append(done[run.folder])
    summaries = {name: [each.summary for each in found] for name, found in by_name.items()}
    return Comparison(
        table=[table.row(name, each) for name, each in summaries.items()],
        runs=summaries,
        curves={
            name: np.stack([each.accuracy for each in found]) for name, found in by_name.items()
        },
        folder=folder,
    )


@contextmanager
def _told_where(path: Path | None, runs: int, console: Console) -> Iterator[None]:
    """Say what is there if a comparison does not come to its end."""
    try:
        yield
    except BaseException:
        if path and any(path.iterdir()):
            done = finished(path)
            whole = f"{done} of {runs} runs are complete; they and t" if done else "T"
            where = f"{whole}he rounds so far of {'others' if done else 'all'} are in '{path}'."
            console.print(where, markup=False, highlight=False, soft_wrap=True)
        raise
