"""Ends what a process has started if that process is gone, even by ``kill -9``.

A program of its own, which needs nothing but Python. It is told over its standard input, a line
each: ``add PGID`` and ``drop PGID`` for groups of processes, ``folder PATH`` for a folder that is
to be removed. Only when the other end is gone does the input end, and then it acts.
"""

import os
import shutil
import signal
import sys
from contextlib import suppress

__all__ = ["main"]


def main() -> None:
    """Listen until the end, and then end all that is left."""
    groups: list[int] = []
    folders: list[str] = []
    for line in sys.stdin:
        what, _, told = line.rstrip("\n").partition(" ")
        if what == "add":
            groups.append(int(told))
        elif what == "drop":
            groups.remove(int(told))
        else:
            folders.append(told)
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
