"""``flexcfl run``, ``federate`` and ``resume``: train a federation, here or over a network."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexcfl.cli import options
from flexcfl.experiment.options import Options

if TYPE_CHECKING:
    from rich.console import Console

    from flexcfl.experiment.layers import SettingsLayer


@options.with_settings(Options)
def run(
    settings: "SettingsLayer",
    experiment: options.Experiment = None,
    out: options.RunOut = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> None:
    """Train one federation and write a folder with its settings, figures and models.

    Without arguments it trains FlexCFL on handwritten digits, which need no download, while clients
    swap their data. EXPERIMENT.toml is a file of settings; every run writes one to its folder.
    Settings come from the dataset's defaults, then the file, then options, then --set; the last one
    wins. 'flexcfl settings' lists them all.

    Ctrl-C ends the round and saves a checkpoint, from which 'flexcfl resume RUN' continues.
    """
    from rich.console import Console

    from flexcfl.experiment import toml
    from flexcfl.experiment.layers import SettingsLayer
    from flexcfl.runner.console_run import run_experiment
    from flexcfl.runner.tracking import trackers

    file = [SettingsLayer("file", toml.read(experiment))] if experiment else []
    run_experiment(
        [*file, settings],
        Console(quiet=quiet),
        folder=out or "new",
        file=experiment,
        stoppable=True,
        callbacks=trackers(track or []),
    )


@options.with_settings(Options)
def federate(
    settings: "SettingsLayer",
    experiment: options.Experiment = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of SuperNodes, which share the clients. [default: network.nodes in the "
            "file, else 2]",
        ),
    ] = None,
    tls: Annotated[
        bool,
        typer.Option(
            "--tls", help="Encrypt, and admit only nodes with a key; keys are made for this run."
        ),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", help="Port of the SuperLink. [default: a free one]"),
    ] = None,
    out: options.RunOut = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> None:
    """Train one federation over Flower, with a SuperLink and SuperNodes on this machine.

    It needs flexcfl[flower]. EXPERIMENT.toml and the options are those of 'flexcfl run'. The output
    and the folder are the same too, with the same groups, cohorts and models. Each node has a part
    of the dataset, and nodes and server communicate over the network of this machine. For a
    federation of several machines see docs/flower.md.

    A node that ends is started again. If the SuperLink or the server ends, all processes are
    started again, and the run continues from its checkpoint; there is one after every round. The
    run's folder logs has the output of Flower's processes, and missing.csv the clients that did not
    answer.

    Ctrl-C ends all processes at once; 'flexcfl resume RUN' continues with as many nodes, and with
    TLS if the run had it.
    """
    from rich.console import Console

    from flexcfl.flower.local.federate import federate as run_local

    run_local(
        experiment,
        settings,
        Console(quiet=quiet),
        nodes=nodes,
        out=out,
        port=port,
        tls=tls,
        track=tuple(track or ()),
    )


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", hidden=True)],
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="For a comparison: number of runs at once, each in its own process on one core. "
            "[default: one per core]",
        ),
    ] = None,
    data: options.Data = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> None:
    """Resume a run or a comparison, with the same results as without the interruption.

    DIR is the folder that 'flexcfl run' or 'flexcfl compare' printed. A run continues from its last
    checkpoint: its rounds.csv and its models will be, byte for byte, those of an uninterrupted run.
    A run of 'flexcfl federate' continues with as many nodes as it had.

    In a comparison, finished runs are not done again, begun runs continue, and the others begin. If
    all are finished, its table is shown again.

    With --track, earlier rounds that were not logged yet are logged as well.
    """
    from rich.console import Console

    from flexcfl.comparison.folder import is_comparison

    console = Console(quiet=quiet)
    if is_comparison(folder):
        _resume_comparison(folder, console, jobs, data, track or [])
    else:
        _resume_run(folder, console, jobs, data, track or [])


def _resume_comparison(
    folder: Path, console: "Console", jobs: int | None, data: Path | None, track: list[str]
) -> None:
    from flexcfl.comparison.running import run_comparison
    from flexcfl.comparison.spec import ComparisonSpec

    spec = ComparisonSpec.read(folder)
    moved = spec.with_data_in(data) if data else spec
    run_comparison(moved, console, jobs=jobs, folder=folder, stoppable=True, track=track)


def _resume_run(
    folder: Path, console: "Console", jobs: int | None, data: Path | None, track: list[str]
) -> None:
    from flexcfl.errors import SettingsError
    from flexcfl.experiment.layers import options_layer
    from flexcfl.flower.local.federate import forget, is_local, resume_local
    from flexcfl.record.lifecycle import is_finished, tidy
    from flexcfl.runner.console_run import resume_experiment as resume_here
    from flexcfl.runner.tracking import trackers

    if jobs is not None:
        raise SettingsError(f"'{folder}' holds one run, not a comparison: leave --jobs out.")
    if is_finished(folder):
        tidy(folder)
        forget(folder)
        typer.echo(f"The run in '{folder}' is finished: there is nothing left to do.")
        return
    layers = [options_layer({"data": data})] if data else []
    if is_local(folder):
        resume_local(folder, console, layers=layers, track=track)
        return
    resume_here(folder, console, layers=layers, stoppable=True, callbacks=trackers(track))
