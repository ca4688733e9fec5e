"""``flexcfl federate``: a run whose clients are on SuperNodes of this machine."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from flexcfl.errors import FlexcflError, SettingsError, TrainingError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import SettingsLayer, named_code
from flexcfl.experiment.resolve import Resolved, resolve
from flexcfl.flower import EVERY_ROUND
from flexcfl.flower.local.federation import FederationPlan, LocalFederation
from flexcfl.flower.local.programs import check_free_port
from flexcfl.flower.local.run_progress import RunProgress
from flexcfl.lines import tell
from flexcfl.protocol.cohorts import Attendance
from flexcfl.record import lifecycle, run_folders
from flexcfl.record.folder import EXPERIMENT
from flexcfl.record.lifecycle import is_finished
from flexcfl.record.lock import locked
from flexcfl.record.tables import RoundFigures
from flexcfl.report.terminal.round_progress import show_rounds
from flexcfl.report.terminal.run_results import result_rows
from flexcfl.report.terminal.setting_rows import print_rows, resolved_rows
from flexcfl.runner.console_run import show_loading, sizes_of
from flexcfl.runner.loading import load
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.runner.tracking import trackers

NODES = 2
CLEAR = "\r\x1b[2K"  # the line of the progress bar


def federate(
    file: Path | None,
    overrides: SettingsLayer,
    console: Console,
    *,
    nodes: int | None = None,
    out: Path | None = None,
    port: int | None = None,
    tls: bool = False,
    track: Sequence[str] = (),
) -> Path:
    """Run an experiment over nodes of this machine.

    All checks come first, before any process starts.

    Args:
        file: The experiment's TOML file, or None for the defaults.
        overrides: Settings that override those of the file.
        console: The console that shows the run.
        nodes: The number of nodes.
        out: The folder of the run; by default a new one.
        port: The port of the SuperLink; by default a free one.
        tls: Whether to use TLS and node keys.
        track: The names of trackers.

    Returns:
        The folder of the run.

    """
    _check_possible(port, track)
    layers = [SettingsLayer("given", {"network.nodes": NODES})]
    layers += [SettingsLayer("file", toml.read(file)), overrides] if file else [overrides]
    layers += [] if nodes is None else [SettingsLayer("given", {"network.nodes": nodes})]
    resolved = resolve([*layers, SettingsLayer("network", EVERY_ROUND)])
    if out is not None:
        run_folders.check_free(out)
    prepared = _prepared(resolved, file, console)
    path, made = run_folders.make_run_folder(
        out, lifecycle.ROOT / lifecycle.run_name(resolved.experiment)
    )
    config = {"experiment": toml.written(resolved.experiment), "track": ",".join(track)}
    _execute(path, config, prepared, console, made=made, port=port, tls=tls)
    return path


def resume_local(
    path: Path,
    console: Console,
    *,
    layers: Sequence[SettingsLayer] = (),
    track: Sequence[str] = (),
) -> None:
    """Resume a run over nodes of this machine; ``layers`` may hold the new folder of the data."""
    _check_possible(None, track)
    file = path / EXPERIMENT
    experiment = resolve([SettingsLayer("file", toml.read(file)), *layers]).experiment
    if is_finished(path):
        raise SettingsError(f"The run in '{path}' is finished: there is nothing left to do.")
    with locked(path):  # an error if another process uses it
        pass
    # All settings come from the file, so their sources are not shown.
    prepared = _prepared(Resolved(experiment, {}), file, console)
    config = {"resume": True, "track": ",".join(track)}
    tls = RunProgress(path).registration.exists()
    _execute(path, config, prepared, console, tls=tls)


def is_local(path: Path) -> bool:
    """Return whether a folder holds a run over nodes of this machine."""
    file = path / EXPERIMENT
    if not (RunProgress(path).logs.is_dir() and file.is_file()):
        return False
    return "nodes" in toml.read(file).get("network", {})


def forget(path: Path) -> None:
    """Remove the nodes' memory of a finished run."""
    if is_local(path):
        RunProgress(path).forget()


def _execute(
    path: Path,
    config: Mapping[str, Any],
    prepared: Prepared,
    console: Console,
    *,
    made: Sequence[Path] | None = None,
    port: int | None = None,
    tls: bool = False,
) -> None:
    """Execute a run, and show its rounds as they are written.

    ``made`` lists the folders that were made for a new run.
    """
    experiment = prepared.experiment
    config, total = {**config, "out": str(path)}, experiment.run.rounds
    nodes, each = _nodes(experiment), _node_settings(experiment)
    plan = FederationPlan(path, config, nodes, each, port=port, tls=tls)
    what = f"Starting a SuperLink and {nodes} SuperNode{'' if nodes == 1 else 's'}"
    if not console.is_terminal:  # it has no spinner
        tell(what, console)
    with _say_how_to_resume(path, console, made), LocalFederation(plan, _remark) as federation:
        with show_loading(console, what):
            before = federation.begin()
        if config.get("resume"):
            after = f"after round {before} of {total}" if before else "from the start"
            print_rows({"resumed": Text(after)}, console)
        rounds = (_Followed(each, prepared.cohorts) for each in federation.rounds())
        for _ in show_rounds(rounds, total, console, before):
            pass
    forget(path)
    print_rows(result_rows(load(path)), console)


@dataclass(frozen=True)
class _Followed:
    """A round that another process has written."""

    figures: RoundFigures
    cohorts: Attendance

    @property
    def present(self) -> int:
        return int(np.count_nonzero(self.cohorts.present(self.figures.round)))


def _nodes(experiment: Experiment) -> int:
    return experiment.network.nodes or NODES


def _node_settings(experiment: Experiment) -> dict[str, Any]:
    """Return the settings that all nodes have on this machine."""
    run = experiment.run
    folder = getattr(experiment.data.options, "folder", None) or run.data
    code = named_code(experiment.tables())
    return {
        "device": run.device,
        **({"data": str(folder)} if folder is not None else {}),
        **({"code": ",".join(code)} if code else {}),  # trusted: one user starts all processes
    }


def _check_possible(port: int | None, track: Sequence[str]) -> None:
    if os.name != "posix":
        raise SettingsError(
            "'flexcfl federate' needs Linux or macOS: start SuperLink and SuperNodes as "
            "docs/flower.md says, or use 'flexcfl run'."
        )
    try:
        version("flwr")
    except PackageNotFoundError:
        raise SettingsError(
            "Flower is not installed: pip install 'flexcfl[flower]', then repeat the command."
        ) from None
    if port is not None:
        check_free_port(port)
    trackers(track)  # so that a missing package is an error before any process starts


def _prepared(resolved: Resolved, file: Path | None, console: Console) -> Prepared:
    """Prepare the run here, so that errors of the nodes appear before any process starts."""
    experiment, nodes = resolved.experiment, _nodes(resolved.experiment)
    if experiment.network.own_files:
        raise SettingsError(
            "The nodes of this experiment have their own files ([network] clients), but those "
            "of 'flexcfl federate' share a known dataset: leave clients, shape and classes "
            "out, or start nodes as docs/flower.md says."
        )
    print_rows(resolved_rows(resolved, file), console)
    with show_loading(console, "Loading the data and the model"):
        prepared = prepare(experiment)
    clients = prepared.federation.clients
    if nodes > clients:
        raise SettingsError(
            f"{nodes} nodes are more than the {clients} clients of '{experiment.data.name}': "
            "lower --nodes."
        )
    print_rows(sizes_of(prepared, f"{nodes:,} node{'' if nodes == 1 else 's'}"), console)
    return prepared


@contextmanager
def _say_how_to_resume(path: Path, console: Console, made: Sequence[Path] | None) -> Iterator[None]:
    """If the run fails, say how to resume it, or remove it if no round was done."""
    progress = RunProgress(path)
    try:
        yield
    except BaseException as error:
        progress.unlock()
        if progress.has_rounds:
            # An error of the run itself would come again.
            own = isinstance(error, FlexcflError) and not isinstance(error, TrainingError)
            further = "" if own else f" To go on: {run_folders.resume_command(path)}"
            tell(f"The rounds so far are in '{path}'.{further}", console)
        elif made is not None and not isinstance(error, TrainingError):  # it refers to the logs
            progress.discard(made)
        raise


def _remark(text: str) -> None:
    """Print a remark above the progress bar, if there is one."""
    file = getattr(sys.stderr, "rich_proxied_file", sys.stderr)  # not through the bar
    file.write(f"{CLEAR if file.isatty() else ''}{text}")
    file.flush()
