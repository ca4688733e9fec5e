"""``flexcfl run``: train one federation and leave a run folder."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from flexcfl.runner.resolve import Resolved

__all__ = ["run"]


def run(
    experiment: Annotated[
        Path | None,
        typer.Argument(metavar="EXPERIMENT.toml", hidden=True),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="fedavg or fedprox. [default: fedavg]"),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="digits, synthetic, mnist, femnist, fashion-mnist or leaf. It brings its own "
            "settings along, which the other options override. [default: digits]",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="mclr, mlp, cnn, or a network of your own as package.module:factory.",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(metavar="N", help="Number of communication rounds.")
    ] = None,
    cohort: Annotated[
        int | None, typer.Option(metavar="N", help="Number of clients that train in a round.")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(metavar="N", help="How often a client goes through its data in a round."),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="Number of examples in a mini-batch.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="X", help="The clients' learning rate.")
    ] = None,
    groups: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of groups; fedavg and fedprox have one."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="The same seed gives the same run, bit for bit. [default: 0]"
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the dataset's files are looked for first.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run's folder. [default: a new one under runs]"),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Where to compute: cpu, cuda. [default: cpu]"),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any setting by table and name, such as local.prox=0.1; may be repeated.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Train one federation and leave a folder with its settings, figures and models.

    Without arguments it runs FedAvg on a small federation that needs no download.
    EXPERIMENT.toml is a file of settings, such as every run leaves in its folder. Settings come
    from the dataset's defaults, then the file, then the options, then --set; the later one wins.
    """
    # Late imports: whoever asks for help, or mistypes an option, does not wait for them.
    from rich.console import Console

    from flexcfl.runner import display, toml
    from flexcfl.runner.claim import check_free
    from flexcfl.runner.layers import Layer, dotted, options
    from flexcfl.runner.resolve import resolve
    from flexcfl.settings import assignments

    given = {
        "algorithm": algorithm,
        "dataset": dataset,
        "model": model,
        "rounds": rounds,
        "cohort": cohort,
        "epochs": epochs,
        "batch": batch,
        "rate": rate,
        "groups": groups,
        "seed": seed,
        "data": data.resolve() if data else None,
        "device": device,
    }
    file = [Layer("file", toml.read(experiment))] if experiment else []
    words = [Layer("given", options(given)), Layer("given", dotted(assignments(set_ or [])))]
    resolved = resolve([*file, *words])
    if out is not None:
        check_free(out)
    console = Console(quiet=quiet)
    console.print(display.settings(resolved, experiment))
    _run(resolved, out, console)


def _run(resolved: "Resolved", out: Path | None, console: "Console") -> None:
    from flexcfl.runner import display
    from flexcfl.runner.claim import claimed
    from flexcfl.runner.execute import execute
    from flexcfl.runner.folder import ROUNDS, RunFolder
    from flexcfl.runner.prepare import prepare
    from flexcfl.runner.progress import shown

    with console.status("Loading the data and the model"):
        prepared = prepare(resolved.experiment)
    console.print(display.sizes(prepared))
    view = partial(shown, total=resolved.experiment.run.rounds, console=console)
    with claimed(out, resolved.experiment) as path:
        try:
            console.print(display.results(execute(prepared, view, RunFolder(path))))
        except KeyboardInterrupt:
            if (path / ROUNDS).exists():
                console.print(f"The rounds so far are in '{path}'.", highlight=False)
            raise
