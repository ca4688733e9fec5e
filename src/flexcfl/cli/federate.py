"""``flexcfl federate``: train one federation whose clients are on SuperNodes of this machine."""

from typing import Annotated

import typer

from flexcfl.cli.asking import Asked, asking

__all__ = ["federate"]


@asking
def federate(
    asked: Asked,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of SuperNodes, which share the clients. [default: network.nodes of the "
            "file, else 2]",
        ),
    ] = None,
    tls: Annotated[
        bool,
        typer.Option(
            "--tls", help="Encrypt, and let in only nodes with a key; all made for this run alone."
        ),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", help="Port of the SuperLink. [default: one that is free]"),
    ] = None,
) -> None:
    """Train one federation over Flower, with a SuperLink and SuperNodes on this machine.

    It needs flexcfl[flower]. The options are those of 'flexcfl run', EXPERIMENT.toml is a file of
    settings as there, and so are the view and the folder that is left, in which the groups, the
    cohorts and the models are the same as well. Nodes have parts of the dataset; what passes
    between them and the server goes over the network of this machine. For a federation of several
    machines see docs/flower.md.

    A node that ends is started again, and so is all if the SuperLink or the server does; then the
    run goes on from its checkpoint, of which there is one after every round. What Flower's
    processes print is in the folder logs of the run, and who did not answer in missing.csv.

    Ctrl-C ends all at once; 'flexcfl resume RUN' goes on, over as many nodes and as safely.
    """
    from rich.console import Console

    from flexcfl.flower.local.conduct import federate as held

    console = Console(quiet=asked.quiet)
    held(
        asked.file,
        asked.words,
        console,
        nodes=nodes,
        out=asked.out,
        port=port,
        tls=tls,
        track=asked.track,
    )
