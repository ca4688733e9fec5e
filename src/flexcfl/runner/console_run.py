"""A run with its console output, for the command and for ``flexcfl.run``."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rich.console import Console
from rich.text import Text

from flexcfl.errors import DiskError, FlexcflError, SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.objects import NO_OBJECTS, UserObjects
from flexcfl.experiment.resolve import Resolved, resolve
from flexcfl.lines import tell
from flexcfl.record.folder import EXPERIMENT, RunFolder
from flexcfl.record.lifecycle import check_run, claim_folder, is_finished
from flexcfl.record.lock import locked
from flexcfl.record.run_folders import check_free, resume_command
from flexcfl.record.tables import ROUNDS
from flexcfl.report.terminal.round_progress import show_rounds
from flexcfl.report.terminal.run_results import result_rows
from flexcfl.report.terminal.setting_rows import Rows, print_rows, resolved_rows, size_rows
from flexcfl.runner.callbacks import Callback, View, remark
from flexcfl.runner.execute import execute
from flexcfl.runner.hosting import SIMULATED, Hosting
from flexcfl.runner.origin import Origin
from flexcfl.runner.prepare import Prepared
from flexcfl.runner.restoring import Restored, check_custom_parts, restore
from flexcfl.runner.result import Run
from flexcfl.runner.stopping import Stop, StoppedError, stop_on_signals

Folder: TypeAlias = Path | Literal["new"] | None  # "new" is one under runs; None writes nothing


def run_experiment(
    layers: Iterable[SettingsLayer],
    console: Console,
    *,
    folder: Folder,
    file: Path | None = None,
    own: UserObjects = NO_OBJECTS,
    stoppable: bool = False,
    hosting: Hosting = SIMULATED,
    callbacks: Iterable[Callback] = (),
) -> Run:
    """Check everything, then train, writing into ``folder`` and showing on ``console``.

    ``file`` is shown as the source of settings. The objects in ``own`` replace what the experiment
    names. A ``stoppable`` run handles signals. ``hosting`` says where the clients are, and
    ``callbacks`` follow the run.
    """
    resolved = resolve(layers, own)
    if isinstance(folder, Path):
        check_free(folder, hosting.beside)
    prepared = _prepared(resolved, file, own, console, hosting)
    view = _view(prepared, console)
    if folder is None:
        run = execute(prepared, view, hosting=hosting, callbacks=callbacks)
    else:
        out = folder if isinstance(folder, Path) else None
        claim = claim_folder(out, resolved.experiment, hosting.beside)
        with claim as path, _going_on(path, console, stoppable) as stop:
            run = execute(prepared, view, RunFolder(path), stop, None, hosting, callbacks)
    print_rows(result_rows(run), console)
    return run


def resume_experiment(
    path: Path,
    console: Console,
    *,
    layers: Iterable[SettingsLayer] = (),
    own: UserObjects = NO_OBJECTS,
    stoppable: bool = False,
    hosting: Hosting = SIMULATED,
    callbacks: Iterable[Callback] = (),
) -> Run:
    """Go on with the run in a folder from its newest checkpoint.

    ``layers`` may say where the data are now.
    """
    check_run(path)
    with locked(path):
        if is_finished(path):
            raise SettingsError(f"The run in '{path}' is finished: there is nothing left to do.")
        check_custom_parts(path, own)  # first, because missing objects cannot be found by name
        file = path / EXPERIMENT
        experiment = resolve([SettingsLayer("file", _said(file, own)), *layers], own).experiment
        # All settings are from the file, so no sources are shown.
        prepared = _prepared(Resolved(experiment, {}), file, own, console, hosting)
        found = restore(path, prepared, Origin.of(prepared), hosting)
        _show_restored(found, prepared, console)
        with found.trusted(), _going_on(path, console, stoppable) as stop:
            view = _view(prepared, console, found.number)
            run = execute(prepared, view, RunFolder(path), stop, found, hosting, callbacks)
            rows = result_rows(run)
    print_rows(rows, console)
    return run


def _said(file: Path, own: UserObjects) -> dict[str, Any]:
    """Return the settings of a file, without the options of custom objects."""
    tables = toml.read(file)
    for name, brought in (("shift", own.shifts), ("drift", own.detector)):
        said = tables.get(name)
        if brought is not None and isinstance(said, dict):
            tables[name] = {key: value for key, value in said.items() if key == "name"}
    return tables


def _prepared(
    resolved: Resolved, file: Path | None, own: UserObjects, console: Console, hosting: Hosting
) -> Prepared:
    print_rows(resolved_rows(resolved, file), console)
    with show_loading(console, hosting.waiting):
        prepared = hosting.prepare(resolved.experiment, own)
    print_rows(sizes_of(prepared, hosting.sizes(prepared)), console)
    return prepared


def sizes_of(prepared: Prepared, held: str) -> Rows:
    """Return the rows of sizes that are shown; ``held`` describes the data."""
    return size_rows(
        prepared.federation.clients,
        prepared.engine.parameters,
        prepared.memory,
        prepared.experiment.algorithm.name,
        held,
        slow=prepared.engine.could_be_compiled,
    )


def _view(prepared: Prepared, console: Console, before: int = 0) -> View:
    total = prepared.experiment.run.rounds
    return partial(show_rounds, total=total, console=console, before=before)


def _show_restored(found: Restored, prepared: Prepared, console: Console) -> None:
    after = f"after round {found.number} of {prepared.experiment.run.rounds}"
    print_rows({"resumed": Text(after if found.number else "from the start")}, console)
    for each in found.remarks:
        remark(each)


@contextmanager
def _going_on(path: Path, console: Console, stoppable: bool) -> Iterator[Stop]:
    """Listen to signals, and say how to go on if the run does not come to its end."""
    try:
        with stop_on_signals() if stoppable else nullcontext(Stop()) as stop:
            yield stop
    except StoppedError:
        raise
    except BaseException as error:
        if not (path / ROUNDS).exists():
            raise
        if isinstance(error, DiskError):
            raise DiskError.of(
                error.path, error.reason, f"then go on: {resume_command(path)}"
            ) from None
        # If the training failed, it would fail again.
        further = "" if isinstance(error, FlexcflError) else f" To go on: {resume_command(path)}"
        tell(f"The rounds so far are in '{path}'.{further}", console)
        raise


def show_loading(console: Console, what: str) -> AbstractContextManager[object]:
    """Show a spinner, unless the console is quiet."""
    # A spinner redirects all output to its console, and a quiet console would swallow it.
    if console.quiet:
        return nullcontext()
    # Unlike its bars, Rich's spinners do not check whether the terminal can show them.
    spinner = "line" if console.options.ascii_only else "dots"
    return console.status(what, spinner=spinner)
