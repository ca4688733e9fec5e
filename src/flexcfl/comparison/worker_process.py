"""A worker process: ``python -c`` of ``main``.

It gets its runs on its standard input and answers on its standard output, in pickles. When the
input ends, its parent has no more work or has died: a run that has a folder is brought to the end
of its round and a checkpoint, anything else is broken off, and the process ends. So none is ever
left behind, however its parent dies.
"""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import IO, Any

from flexcfl.comparison.worker import RunWorker, failure_message
from flexcfl.comparison.worker_messages import Message, Task
from flexcfl.errors import SettingsError
from flexcfl.runner.stopping import StoppedError

__all__ = ["main", "report_unraisable"]


@dataclass(frozen=True)
class _Unreadable:
    """Something came in that this process cannot read."""

    error: Exception


def main() -> None:
    """Do what comes in until the input ends: a worker process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even where a parent ignores it
    answers = _taken_output()
    sys.unraisablehook = report_unraisable
    incoming, hung_up = SimpleQueue[Any](), threading.Event()
    arguments = (sys.stdin.buffer, incoming, hung_up)
    try:
        threading.Thread(target=_listen, args=arguments, daemon=True).start()
        _serve(incoming, hung_up, partial(_send, answers))
    except KeyboardInterrupt:
        pass
    finally:
        os._exit(0)  # Python would wait for threads that may still be training clients


def _taken_output() -> IO[bytes]:
    """Return the standard output, and let what others print go where errors go."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def report_unraisable(what: "sys.UnraisableHookArgs") -> None:
    """Report an error that nobody can catch, unless it only says that the process shall end."""
    if not isinstance(what.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _listen(source: IO[bytes], incoming: "SimpleQueue[Any]", hung_up: threading.Event) -> None:
    try:
        while True:
            incoming.put(pickle.load(source))
    except EOFError:
        pass
    except Exception as error:  # such as a class that only the parent's program knows
        incoming.put(_Unreadable(error))
        source.read()  # what is left of it, until the parent hangs up
    finally:
        hung_up.set()
        # To the main thread, so that it wakes up wherever it waits.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _send(answers: IO[bytes], message: Message) -> None:
    # Where nobody is left to hear it the input ends as well, which is when a run comes to its end.
    with suppress(BrokenPipeError):
        answers.write(pickle.dumps(message))
        answers.flush()


def _serve(
    incoming: "SimpleQueue[Any]", hung_up: threading.Event, send: Callable[[Message], None]
) -> None:
    """Take in a federation of the caller's own, or None, and then tasks, until a run is stopped."""
    worker = RunWorker(None, hung_up)
    while not hung_up.is_set():
        item = incoming.get()
        try:
            if isinstance(item, Task):
                worker.do(item, send)
            elif isinstance(item, _Unreadable):
                raise SettingsError(
                    f"What was sent to another process cannot be read there ({item.error}): define "
                    "its classes in a module that can be imported."
                )
            else:
                worker.federation = item
        except StoppedError:
            return
        except (Exception, SystemExit) as error:
            send(failure_message(error, worker.begun))
