"""A whole run, from layers of settings to its result: for the command and for ``flexcfl.run``."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from rich.console import Console

from flexcfl.runner import display
from flexcfl.runner.claim import claimed
from flexcfl.runner.execute import execute
from flexcfl.runner.folder import ROUNDS, RunFolder
from flexcfl.runner.layers import Layer
from flexcfl.runner.own import NOTHING, Own
from flexcfl.runner.places import check_free
from flexcfl.runner.prepare import prepare
from flexcfl.runner.progress import shown
from flexcfl.runner.resolve import resolve
from flexcfl.runner.result import Run

__all__ = ["Folder", "conduct"]

Folder: TypeAlias = Path | Literal["new"] | None  # "new" is one under runs; None writes nothing


def conduct(
    layers: Iterable[Layer],
    console: Console,
    *,
    folder: Folder,
    file: Path | None = None,
    own: Own = NOTHING,
) -> Run:
    """Check everything, then train, writing into ``folder`` and showing on ``console``.

    ``file`` is shown as where settings come from. What the caller has of its own takes the place
    of what the experiment names.
    """
    resolved = resolve(layers, own)
    if isinstance(folder, Path):
        check_free(folder)
    display.show(display.settings(resolved, file), console)
    with _loading(console):
        prepared = prepare(resolved.experiment, own)
    display.show(display.sizes(prepared), console)
    view = partial(shown, total=resolved.experiment.run.rounds, console=console)
    if folder is None:
        run = execute(prepared, view)
    else:
        out = folder if isinstance(folder, Path) else None
        with claimed(out, resolved.experiment) as path, _told_where(path, console):
            run = execute(prepared, view, RunFolder(path))
    display.show(display.results(run), console)
    return run


def _loading(console: Console) -> AbstractContextManager[object]:
    # A spinner redirects what others print to its console, where a quiet one would swallow it.
    if console.quiet:
        return nullcontext()
    # Unlike its bars, Rich's spinners do not ask whether the terminal can show them.
    spinner = "line" if console.options.ascii_only else "dots"
    return console.status("Loading the data and the model", spinner=spinner)


@contextmanager
def _told_where(path: Path, console: Console) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if (path / ROUNDS).exists():
            where = f"The rounds so far are in '{path}'."
            console.print(where, markup=False, highlight=False, soft_wrap=True)
        raise
