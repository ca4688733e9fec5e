"""Flower's programs without their start-up: forks of one process that has imported everything.

Every node is two processes of Flower, and one more for each message to it. Most of what these cost
on one machine is that each imports Flower anew, and PyTorch if it trains. So for the programs of
Flower others stand in (``standin.py``): they ask this process over a socket, whose fork then does
what Flower's own program would, in the environment of this process, which is that of all programs
of a federation. A fork ends if who has asked is gone.
"""

import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn, TypeAlias

__all__ = ["main"]

Program: TypeAlias = Callable[[], Any]

WAITING = 1000  # who may wait until everything is imported
LONGEST = 65_536  # bytes of all words
LOOK = 1.0  # seconds after which is looked whether who has started this is still there


def main(path: str, *names: str) -> None:
    """Import everything, and then fork for everybody who asks for one of these programs.

    It heads a group of processes, that of all its forks, and they end with who has started it.
    """
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(f"{path}.new")
        door.listen(WAITING)
        Path(f"{path}.new").rename(path)  # whoever finds it finds it open
        programs = imported(names)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that nobody has to wait for forks
        door.settimeout(LOOK)
        while os.getppid() == parent:
            with suppress(TimeoutError):
                asker, _ = door.accept()
                with asker:
                    _fork(door, asker, programs)
    os.killpg(os.getpid(), signal.SIGKILL)


def _fork(door: socket.socket, asker: socket.socket, programs: Mapping[str, Program]) -> None:
    """Let a fork do what is asked for; where there can be none, the asker ends as after a kill."""
    try:
        fork = os.fork()
    except OSError as error:
        sys.stderr.write(f"There is no process for a program of Flower: {error}\n")
        return
    if fork == 0:
        door.close()
        _work(asker, programs)


def imported(names: tuple[str, ...]) -> Mapping[str, Program]:
    """Return programs by their names, with all imported that they and our apps need."""
    import flexcfl.engine
    import flexcfl.flower.client
    import flexcfl.flower.server
    import flexcfl.models
    from flexcfl.flower.local import waits

    with suppress(ImportError):  # of Numba, without which it is not used
        import flexcfl.engine.compiled  # noqa: F401
    with suppress(ImportError):  # what Flower's connections import when they are first made
        import httpcore  # noqa: F401

    waits.shorten()
    found = entry_points(group="console_scripts")
    return {name: found[name].load() for name in names}


def _work(asker: socket.socket, programs: Mapping[str, Program]) -> NoReturn:
    """Be the program that is asked for, with the output of who has asked."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told, files, _, _ = socket.recv_fds(asker, LONGEST, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.argv = told.decode().split("\0")
    Thread(target=_end_with, args=(asker,), daemon=True).start()
    code = _outcome(programs[sys.argv[0]])
    with suppress(OSError):
        asker.send(str(code).encode())
    os._exit(code)


def _outcome(program: Program) -> int:
    """Return the exit code of a program, when it has said all."""
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


def _end_with(asker: socket.socket) -> None:
    """End when the other side does, which says nothing more."""
    with suppress(OSError):
        asker.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)
