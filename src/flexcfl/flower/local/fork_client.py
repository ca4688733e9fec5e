"""Stands in for a program of Flower: a fork of the fork server does its work, and this waits.

It needs nothing but Python, and so starts at once:

    python -I -S fork_client.py SOCKET PROGRAM [what the program takes]

It ends with its parent as well, so that a node that was killed takes along what it had started, and
nothing of it is still at work when it is back.
"""

import os
import socket
import sys

__all__ = ["main"]

LOOK = 0.2  # seconds between two looks whether the parent is still there


def main(path: str, *words: str) -> int:
    """Hand over the words and this process's output, and return how the work ended."""
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.connect(path)
        socket.send_fds(line, ["\0".join(words).encode()], [0, 1, 2])
        line.settimeout(LOOK)
        while os.getppid() == parent:
            try:
                code = line.recv(16)
            except TimeoutError:
                continue
            return int(code) if code else 1  # nothing comes from a fork that was killed
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
