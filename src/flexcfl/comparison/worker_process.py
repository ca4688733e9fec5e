"""A worker process: ``python -c`` of ``main``.

It reads pickled tasks from its standard input and writes pickled messages to its standard output.
The input ends if the parent has no more work or has died. Then a run with a folder finishes its
round and makes a checkpoint, any other run is aborted, and the process ends. So no process outlives
its parent, however that dies.
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


@dataclass(frozen=True)
class _Unreadable:
    """An incoming object that this process cannot unpickle."""

    error: Exception


def main() -> None:
    """Do the tasks that come in until the input ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if the parent ignores it
    answers = _redirect_output()
    sys.unraisablehook = report_unraisable
    incoming, hung_up = SimpleQueue[Any](), threading.Event()
    arguments = (sys.stdin.buffer, incoming, hung_up)
    try:
        threading.Thread(target=_listen, args=arguments, daemon=True).start()
        _serve(incoming, hung_up, partial(_send, answers))
    except KeyboardInterrupt:
        pass
    finally:
        os._exit(0)  # otherwise Python waits for threads that may still train clients


def _redirect_output() -> IO[bytes]:
    """Return the standard output, and send what other code prints to the standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def report_unraisable(what: "sys.UnraisableHookArgs") -> None:
    """Report an error that cannot be caught, unless it is the signal to end the process."""
    if not isinstance(what.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _listen(source: IO[bytes], incoming: "SimpleQueue[Any]", hung_up: threading.Event) -> None:
    try:
        while True:
            incoming.put(pickle.load(source))
    except EOFError:
        pass
    except Exception as error:  # such as a class that only the parent's program has
        incoming.put(_Unreadable(error))
        source.read()  # discard the rest, until the parent closes the input
    finally:
        hung_up.set()
        # A signal wakes up the main thread wherever it waits.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _send(answers: IO[bytes], message: Message) -> None:
    # If the parent is gone, the input ends as well, and that ends the run.
    with suppress(BrokenPipeError):
        answers.write(pickle.dumps(message))
        answers.flush()


def _serve(
    incoming: "SimpleQueue[Any]", hung_up: threading.Event, send: Callable[[Message], None]
) -> None:
    """Take the caller's own federation or None, and then tasks, until a run is stopped."""
    worker = RunWorker(None, hung_up)
    while not hung_up.is_set():
        item = incoming.get()
        try:
            if isinstance(item, Task):
                worker.do(item, send)
            elif isinstance(item, _Unreadable):
                raise SettingsError(
                    f"A worker process cannot read what it was sent ({item.error}): define the "
                    "classes of your data in a module that can be imported."
                )
            else:
                worker.federation = item
        except StoppedError:
            return
        except (Exception, SystemExit) as error:
            send(failure_message(error, worker.begun))
