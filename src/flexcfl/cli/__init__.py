"""The command ``flexcfl``.

Commands import torch and the like only when they run, so that help and errors come at once.
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Any, NoReturn

import click
import typer

from flexcfl import __version__
from flexcfl.cli import (
    algorithms,
    bench,
    compare,
    data,
    export,
    report,
    reproduce,
    runs,
    settings,
    train,
)
from flexcfl.cli.commands import Command, CommandGroup, example
from flexcfl.errors import (
    FlexcflError,
    data_warnings_to,
    not_installed,
    os_error_text,
    out_of_memory,
)

__all__ = ["app", "main"]

MISTAKE = 2
INTERRUPTED, TERMINATED = 130, 143
MEMORY = (
    "There is too little memory: lower --epochs (or local.steps), --cohort or the number of "
    "clients (data.clients), or choose a smaller --model."
)

# From click 8.2 on, a command without its arguments raises its help as an error.
NO_ARGUMENTS = getattr(click.exceptions, "NoArgsIsHelpError", ())

EXAMPLES: Mapping[Callable[..., None], str] = {
    train.run: "run --shift swap-part --model mlp --out runs/mine",
    train.federate: "federate --nodes 4 --dataset digits",
    train.resume: "resume runs/flexcfl-digits-mclr-seed0-1",
    compare.compare: "compare fedavg flexcfl --dataset mnist --seeds 5",
    reproduce.reproduce: "reproduce table3 --only mnist-mclr --seeds 3",
    runs.runs: "runs --where algorithm=flexcfl --sort final",
    runs.show: "show runs/flexcfl-digits-mclr-seed0-1",
    runs.diff: "diff runs/mine runs/flexcfl-digits-mclr-seed0-1 --all",
    report.report: "report runs/flexcfl-digits-mclr-seed0-1 -o mine.html",
    report.watch: "watch runs",
    export.export: "export runs/flexcfl-digits-mclr-seed0-1 -o models",
    export.place: "place runs/flexcfl-digits-mclr-seed0-1 --data newcomer.npz",
    algorithms.algorithms: "algorithms flexcfl",
    settings.settings: "settings local",
    bench.bench: "bench",
}

app = typer.Typer(
    name="flexcfl",
    cls=CommandGroup,
    rich_markup_mode=None,
    help="Clustered federated learning that keeps working when clients differ and change.",
    epilog=example("flexcfl compare fedavg flexcfl --dataset digits"),
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for command, arguments in EXAMPLES.items():
    app.command(command.__name__, cls=Command, epilog=example(f"flexcfl {arguments}"))(command)
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
    """Run the command and return its exit code, 2 after a mistake of the user."""
    if isinstance(sys.stdout, TextIOWrapper):  # an unusual file name must not abort a run
        sys.stdout.reconfigure(errors="replace")
    with _interruptible_once(), data_warnings_to(lambda text: _print(f"Warning: {text}")):
        try:
            return _run(arguments)
        except _TerminatedError:
            return _end("Terminated.", TERMINATED)


class _TerminatedError(BaseException):
    """SIGTERM was received."""


@cache
def _command() -> click.Command:
    """Return the app as a click command; building it takes 10 ms, so it is cached."""
    return typer.main.get_command(app)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = _command().main(args=arguments, prog_name="flexcfl", standalone_mode=False)
    except NO_ARGUMENTS as error:
        typer.echo(error.format_message(), err=True)
        return MISTAKE
    except click.ClickException as error:
        return _mistake(_usage(error))
    except FlexcflError as error:
        code = getattr(error, "code", None)  # set if a run was stopped
        return _mistake(str(error)) if code is None else _print(str(error), code)
    except OSError as error:
        return _mistake(os_error_text(error))
    except ImportError as error:
        return _mistake(not_installed(error))
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        return _mistake(MEMORY)
    if code == INTERRUPTED:  # Typer returns this after Ctrl-C
        return _end("Interrupted.", INTERRUPTED)
    return code if isinstance(code, int) else 0


@contextmanager
def _interruptible_once() -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end the command, and ignore further ones while it ends."""
    usual: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    in_charge = threading.current_thread() is threading.main_thread()
    ours = [each for each in usual if in_charge and signal.getsignal(each) is usual[each]]
    for each in ours:
        signal.signal(each, _interrupt)
    try:
        yield
    finally:
        for each in ours:
            if signal.getsignal(each) is _interrupt:
                signal.signal(each, usual[each])
            elif signal.getsignal(each) is _nothing:
                signal.signal(each, signal.SIG_IGN)  # threads still end after main


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    for each in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(each) is _interrupt:
            # Not SIG_IGN: Python complains about a signal that arrives at this moment.
            signal.signal(each, _nothing)
    raise KeyboardInterrupt if number == signal.SIGINT else _TerminatedError


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Ignore a further signal."""


def _end(sentence: str, code: int) -> int:
    """Say why a command ends, and end the process at once if clients are still being trained."""
    _print(sentence)
    workers = sys.modules.get("flexcfl.engine.workers")  # None if nothing was trained
    if workers is not None and workers.busy():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _usage(error: click.ClickException) -> str:
    """Return click's message with one hint: a similar name, or else the command with --help."""
    message = error.format_message()
    if "Did you mean " in message:  # Typer may have added the same hint
        again = r"( Did you mean [^?]*\?)( \(?Did you mean [^?]*\?\)?)+"
        return re.sub(again, r"\1", message)
    context = getattr(error, "ctx", None)
    if context is None:  # for some errors click does not name the command
        return f"{message.rstrip('.')}: add --help to see what the command takes."
    return f"{message.rstrip('.')}: '{context.command_path} --help' shows what it takes."


def _mistake(sentence: str) -> int:
    return _print(f"Error: {' '.join(sentence.splitlines())}", MISTAKE)


def _print(sentence: str, code: int = 0) -> int:
    """Print a sentence on stderr, and return the exit code."""
    from rich.console import Console

    from flexcfl.lines import tell

    tell(sentence, Console(stderr=True))
    return code
