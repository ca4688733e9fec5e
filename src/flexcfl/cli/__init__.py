"""The command ``flexcfl``.

Commands import what they need when they run, so that help and mistakes do not wait for torch.
"""

from collections.abc import Sequence
from typing import Annotated

import click
import typer

from flexcfl import __version__
from flexcfl.cli import data
from flexcfl.cli.run import run as run_command
from flexcfl.errors import FlexcflError

__all__ = ["app", "main"]

MISTAKE = 2
INTERRUPTED = 130
MEMORY = (
    "This takes more memory than there is: lower --epochs (or local.steps), --cohort or the number "
    "of clients (data.clients), or choose a smaller --model."
)

# Where a command needs arguments and gets none, click 8.2 and later raises its help as an error.
NO_ARGUMENTS = getattr(click.exceptions, "NoArgsIsHelpError", ())

app = typer.Typer(
    name="flexcfl",
    help="Clustered federated learning that keeps working when clients differ and change.",
    epilog="Example: flexcfl run --dataset digits --algorithm fedprox --rounds 30",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run", epilog="Example: flexcfl run --dataset mnist --model mlp --out runs/mine")(
    run_command
)
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"flexcfl {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _commands(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; a person's mistake is one sentence and 2."""
    try:
        code = app(args=arguments, prog_name="flexcfl", standalone_mode=False)
    except NO_ARGUMENTS as error:
        return _told(error.format_message(), MISTAKE)
    except click.ClickException as error:
        return _told(f"Error: {error.format_message()}", MISTAKE)
    except FlexcflError as error:
        return _told(f"Error: {error}", MISTAKE)
    except OSError as error:
        return _told(f"Error: {error}.", MISTAKE)
    except MemoryError:
        return _told(f"Error: {MEMORY}", MISTAKE)
    if code == INTERRUPTED:  # what Typer makes of Ctrl-C
        return _told("Interrupted.", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _told(sentence: str, code: int) -> int:
    from rich.console import Console

    Console(stderr=True).print(sentence, markup=False, highlight=False, soft_wrap=True)
    return code
