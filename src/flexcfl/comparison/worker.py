"""A process of its own that does one run after the other: ``python -c`` of ``main``.

It is told what to run on its standard input and answers on its standard output, in pickles. When
the input ends, whoever started it has no more work or is no more: it breaks off what it is doing,
tidies up and ends. So none is ever left behind, however its parent dies.
"""

import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, TypeAlias

from flexcfl.data import Federation
from flexcfl.errors import FlexcflError, SettingsError, TrainingError, out_of_memory
from flexcfl.runner.claim import claimed
from flexcfl.runner.execute import execute
from flexcfl.runner.experiment import Experiment
from flexcfl.runner.folder import RunFolder
from flexcfl.runner.loop import Round
from flexcfl.runner.own import Own
from flexcfl.runner.prepare import Prepared, prepare

__all__ = ["Desk", "Done", "Failed", "Faulty", "Message", "RoundDone", "Task", "main"]

MEMORY = (
    "There is too little memory: lower --jobs, --epochs (or local.steps), --cohort or the number "
    "of clients (data.clients), or choose a smaller --model."
)


@dataclass(frozen=True)
class Task:
    """A run to do, and the folder to leave, if any."""

    experiment: Experiment
    folder: Path | None


@dataclass(frozen=True)
class RoundDone:
    """A round is over; the accuracy is None where it was not measured."""

    number: int
    accuracy: float | None


@dataclass(frozen=True, eq=False)
class Done:
    """The run is over: its summary, and the accuracy of each round, NaN where there is none."""

    summary: dict[str, Any]
    accuracy: Any


@dataclass(frozen=True)
class Failed:
    """The run cannot be done, for a reason that a person can mend.

    ``begun`` says that it had begun; what is wrong before that is wrong for other runs as well.
    """

    error: FlexcflError
    begun: bool


@dataclass(frozen=True)
class Faulty:
    """The run cannot be done, because the program has a fault."""

    trace: str


@dataclass(frozen=True)
class _Unreadable:
    """Something came in that this process cannot make sense of."""

    error: Exception


Message: TypeAlias = RoundDone | Done | Failed | Faulty
Send: TypeAlias = Callable[[Message], None]


def main() -> None:
    """Do what comes in until the input ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even where a parent ignores it
    answers = _taken_output()
    incoming = SimpleQueue[Any]()
    try:
        threading.Thread(target=_listen, args=(sys.stdin.buffer, incoming), daemon=True).start()
        _serve(incoming, partial(_send, answers))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        os._exit(0)  # Python would wait for threads that may still be training clients


def _taken_output() -> IO[bytes]:
    """Return the standard output, and let what others print go where errors go."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _listen(source: IO[bytes], incoming: "SimpleQueue[Any]") -> None:
    try:
        while True:
            incoming.put(pickle.load(source))
    except EOFError:
        pass
    except Exception as error:  # such as a class that only the parent's program knows
        incoming.put(_Unreadable(error))
        source.read()  # what is left of it, until the parent hangs up
    finally:
        # To the main thread, so that it wakes up wherever it waits.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _send(answers: IO[bytes], message: Message) -> None:
    pickle.dump(message, answers)
    answers.flush()


def _serve(incoming: "SimpleQueue[Any]", send: Send) -> None:
    """Take in a federation of the caller's own, or None, and then tasks."""
    desk = Desk(None)
    while True:
        item = incoming.get()
        try:
            if isinstance(item, Task):
                desk.do(item, send)
            elif isinstance(item, _Unreadable):
                raise SettingsError(
                    f"What was sent to another process cannot be read there ({item.error}): define "
                    "its classes in a module that can be imported."
                )
            else:
                desk.federation = item
        except (Exception, SystemExit) as error:
            send(_told(error, desk.begun))


def _told(error: BaseException, begun: bool) -> Failed | Faulty:
    if isinstance(error, FlexcflError):
        return Failed(error, begun)
    if out_of_memory(error):
        return Failed(TrainingError(MEMORY), begun)
    if isinstance(error, OSError):
        return Failed(TrainingError(f"{error}."), begun)
    return Faulty("".join(traceback.format_exception(error)))


@dataclass
class Desk:
    """What is kept from one run to the next: the data, which are the same for all.

    ``own`` names what of the first run only the caller has; the data of later ones are those of
    the first, whoever has loaded them. ``begun`` says that the last one could begin.
    """

    federation: Federation | None
    own: tuple[str, ...] | None = None
    begun: bool = False

    def do(self, task: Task, send: Send) -> None:
        """Do a run and report its rounds and its end."""
        self.begun = False
        prepared = self._prepared(task.experiment)
        self.begun = True
        claim = claimed(task.folder, task.experiment) if task.folder else nullcontext(None)
        with claim as path:
            run = execute(prepared, partial(_sent, send), RunFolder(path) if path else None)
        send(Done(dict(run.summary), run.rounds["accuracy"]))

    def _prepared(self, experiment: Experiment) -> Prepared:
        prepared = prepare(experiment, Own(self.federation))
        self.federation = prepared.federation
        self.own = prepared.own if self.own is None else self.own
        return replace(prepared, own=self.own)


def _sent(send: Send, rounds: Iterator[Round]) -> Iterator[Round]:
    for done in rounds:
        send(RoundDone(done.figures.round, done.figures.accuracy))
        yield done
