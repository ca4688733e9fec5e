"""Commands in separate processes that start at once: forked from one with all imports.

As a script, this is the process that forks. It reads one request per line and answers each in a
line.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Child", "Children"]


@dataclass(eq=False)
class Children:
    """Starts commands of flexcfl; ``warm`` is one that is run first, to have all loaded."""

    place: Path
    warm: Sequence[str]
    _process: "subprocess.Popen[str]" = field(init=False)
    _number: int = 0

    def __post_init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert self.ask(warm=list(self.warm)) == 0

    def start(
        self,
        *words: str,
        most: int | None = None,
        deaf: bool = False,
        cwd: Path | None = None,
    ) -> "Child":
        """Start a command with files of at most ``most`` bytes; a ``deaf`` one ignores SIGINT."""
        self._number += 1
        out, err = (self.place / f"{self._number}.{name}" for name in ("out", "err"))
        files, folder = [str(out), str(err)], str(cwd or self.place)
        pid = self.ask(words=words, files=files, most=most, deaf=deaf, folder=folder)
        return Child(self, pid, out, err)

    def ask(self, **request: Any) -> int:
        """Return the answer of the process that forks."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise ChildProcessError(self._process.communicate())
        return int(answer)

    def end(self) -> None:
        """Let the process that forks come to its end."""
        self._process.communicate()


@dataclass(eq=False)
class Child:
    """A started command; its process id is not reused before it is waited for."""

    parent: Children
    pid: int
    out: Path
    err: Path
    code: int | None = None

    def send(self, number: signal.Signals) -> None:
        """Send a signal, which does nothing to one that has ended."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Return the exit code, or the number of the signal that ended it, below zero."""
        if self.code is None:
            self.code = self.parent.ask(wait=self.pid)
        return self.code

    def ended(self) -> bool:
        """Whether it has ended."""
        state = Path("/proc", str(self.pid), "stat").read_text().rpartition(")")[2].split()[0]
        return state in "ZX"


def _serve() -> None:
    from flexcfl.cli import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers, alive = os.fdopen(os.dup(1), "w"), set[int]()
    for line in sys.stdin:
        request = json.loads(line)
        if "warm" in request:
            answer = main(request["warm"])
        elif "wait" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
            alive.remove(request["wait"])
        else:
            files = [os.open(name, os.O_CREAT | os.O_WRONLY) for name in request["files"]]
            answer = os.fork() or _become(request, files)
            alive.add(answer)
            for file in files:
                os.close(file)
        answers.write(f"{answer}\n")
        answers.flush()
    for child in alive:  # of a test that has failed
        os.kill(child, signal.SIGKILL)
    os._exit(0)  # a process with many imports takes time to exit


def _become(request: Any, files: Sequence[int]) -> int:
    from flexcfl.cli import main

    for number, file in enumerate(files, start=1):
        os.dup2(file, number)
    os.chdir(request["folder"])
    if request["most"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["most"], request["most"]))
    if request["deaf"]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = 1
    try:
        code = main(request["words"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
