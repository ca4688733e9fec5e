"""Commands in processes of their own, and Ctrl-C for them."""

import os
import re
import signal
import subprocess
import sys

from tests.waiting import PATIENCE

__all__ = ["interrupted", "started"]


def started(*words: str, encoding: str = "utf-8", **environment: str) -> "subprocess.Popen[str]":
    """Start a command whose output can be read line by line."""
    unbuffered = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": encoding}
    return subprocess.Popen(
        [sys.executable, "-m", "flexcfl", *words],
        env={**os.environ, **unbuffered, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding=encoding,
        start_new_session=True,
    )


def interrupted(command: "subprocess.Popen[str]", line: str) -> str:
    """Interrupt a command and its processes once it has shown a line, and return its stderr."""
    assert command.stdout is not None
    while not re.match(line, command.stdout.readline()):
        assert command.poll() is None, command.communicate()
    os.killpg(command.pid, signal.SIGINT)
    # Were a process left behind, the output that it has inherited would not end.
    _, err = command.communicate(timeout=PATIENCE)
    assert command.returncode == 130
    return err
