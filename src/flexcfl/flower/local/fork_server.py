"""Flower's programs without their start-up: forks of one process that has imported everything.

Every node is two processes of Flower, and one more for each message to it. On one machine they
spend most of their time importing Flower, and PyTorch if they train. So ``fork_client.py`` is
started in place of each program. It asks this process over a socket for a fork, which does the work
of Flower's own program in the environment of this process. A fork ends with its client.
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

Program: TypeAlias = Callable[[], Any]

WAITING = 1000  # clients that may wait until everything is imported
LONGEST = 65_536  # bytes of a command
LOOK = 1.0  # seconds between two checks whether the parent of this process is alive
LONGEST_WAIT = 0.2  # seconds between two polls of Flower's programs


def main(path: str, *names: str) -> None:
    """Import everything, and then fork for every client that asks for one of these programs.

    This process leads the process group of its forks. They end with the process that started it.
    """
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(f"{path}.new")
        door.listen(WAITING)
        Path(f"{path}.new").rename(path)  # so that the socket listens as soon as it exists
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
    """Let a fork do the work; if there can be none, the client ends as after a kill."""
    try:
        fork = os.fork()
    except OSError as error:
        sys.stderr.write(f"Flower's program cannot be started: {error}\n")
        return
    if fork == 0:
        door.close()
        _work(client, programs)


def imported(names: tuple[str, ...]) -> Mapping[str, Program]:
    """Import what the programs and our apps need, and return the programs by their names."""
    import flexcfl.engine
    import flexcfl.flower.client
    import flexcfl.flower.server
    import flexcfl.models

    with suppress(ImportError):  # Numba is optional
        import flexcfl.engine.compiled  # noqa: F401
    with suppress(ImportError):  # Flower imports it for its first connection
        import httpcore  # noqa: F401

    shorten_waits()
    found = entry_points(group="console_scripts")
    return {name: found[name].load() for name in names}


def shorten_waits() -> None:
    """Shorten Flower's waits, in this process and its forks.

    A SuperNode looks for messages every 3 seconds, and a program retries after a second if a
    message is still being written. Between machines this spares the network. On one machine a look
    costs a millisecond, and a round of a small federation would be almost nothing but waits.
    """
    from flwr.supercore.inflatable import inflatable_utils
    from flwr.supernode import start_client_internal

    def sleep(seconds: float) -> None:
        time.sleep(min(seconds, LONGEST_WAIT))

    supernode: Any = start_client_internal  # it uses nothing but ``sleep`` from ``time``
    supernode.time = SimpleNamespace(sleep=sleep)
    for pull in ("pull_objects", "pull_and_inflate_object_from_tree"):
        getattr(inflatable_utils, pull).__kwdefaults__["initial_backoff"] = LONGEST_WAIT


def _work(client: socket.socket, programs: Mapping[str, Program]) -> NoReturn:
    """Run the program that the client asks for, with the output of the client."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command, files, _, _ = socket.recv_fds(client, LONGEST, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.argv = command.decode().split("\0")
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
    """End this process when the client ends; the client sends nothing more."""
    with suppress(OSError):
        client.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)
