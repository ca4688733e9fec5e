"""Flower's programs without their start-up: forks of one process that has imported everything.

Every node is two processes of Flower, and one more for each message to it. Most of what these cost
on one machine is that each imports Flower anew, and PyTorch if it trains. So in place of each
program of Flower ``fork_client.py`` is started: it asks this process over a socket, whose fork then
does what Flower's own program would, in the environment of this process, which is that of all
programs of a federation. A fork ends if its client is gone.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, NoReturn, TypeAlias

__all__ = ["main", "shorten_waits"]

Program: TypeAlias = Callable[[], Any]

WAITING = 1000  # clients that may wait until everything is imported
LONGEST = 65_536  # bytes of all words
LOOK = 1.0  # seconds between two looks whether the parent of this process is still there
LONGEST_WAIT = 0.2  # seconds for which Flower's programs wait between two looks


def main(path: str, *names: str) -> None:
    """Import everything, and then fork for every client that asks for one of these programs.

    It heads the process group of all its forks, and they end with the process that started it.
    """
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(f"{path}.new")
        door.listen(WAITING)
        Path(f"{path}.new").rename(path)  # so that it is open as soon as it is there
        programs = imported(names)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that forks need not be waited for
        door.settimeout(LOOK)
        while os.getppid() == parent:
            with suppress(TimeoutError):
                client, _ = door.accept()
                with client:
                    _fork(door, client, programs)
    os.killpg(os.getpid(), signal.SIGKILL)


def _fork(door: socket.socket, client: socket.socket, programs: Mapping[str, Program]) -> None:
    """Let a fork do what is asked for; where there can be none, the client ends as after a kill."""
    try:
        fork = os.fork()
    except OSError as error:
        sys.stderr.write(f"There is no process for a program of Flower: {error}\n")
        return
    if fork == 0:
        door.close()
        _work(client, programs)


def imported(names: tuple[str, ...]) -> Mapping[str, Program]:
    """Return programs by their names, with all imported that they and our apps need."""
    import flexcfl.engine
    import flexcfl.flower.client
    import flexcfl.flower.server
    import flexcfl.models

    with suppress(ImportError):  # of Numba, without which it is not used
        import flexcfl.engine.compiled  # noqa: F401
    with suppress(ImportError):  # what Flower's connections import when they are first made
        import httpcore  # noqa: F401

    shorten_waits()
    found = entry_points(group="console_scripts")
    return {name: found[name].load() for name in names}


def shorten_waits() -> None:
    """Shorten Flower's waits, in this process and its forks.

    A SuperNode looks for messages every 3 seconds, and a program that asks for a part of one that
    is still being written tries again after a second. Between machines that spares the network;
    here, where a look costs a millisecond, a round of a small federation would be almost nothing
    else.
    """
    from flwr.supercore.inflatable import inflatable_utils
    from flwr.supernode import start_client_internal

    def sleep(seconds: float) -> None:
        time.sleep(min(seconds, LONGEST_WAIT))

    supernode: Any = start_client_internal  # which takes nothing but ``sleep`` from ``time``
    supernode.time = SimpleNamespace(sleep=sleep)
    for pull in ("pull_objects", "pull_and_inflate_object_from_tree"):
        getattr(inflatable_utils, pull).__kwdefaults__["initial_backoff"] = LONGEST_WAIT


def _work(client: socket.socket, programs: Mapping[str, Program]) -> NoReturn:
    """Be the program that is asked for, with the output of the client."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    words, files, _, _ = socket.recv_fds(client, LONGEST, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.argv = words.decode().split("\0")
    Thread(target=_end_with, args=(client,), daemon=True).start()
    code = _outcome(programs[sys.argv[0]])
    with suppress(OSError):
        client.send(str(code).encode())
    os._exit(code)


def _outcome(program: Program) -> int:
    """Run a program, and return its exit code."""
    try:
        program()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
    return 0


def _end_with(client: socket.socket) -> None:
    """End when the client does, which sends nothing more."""
    with suppress(OSError):
        client.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)
