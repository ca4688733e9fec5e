"""Stands in for a program of Flower: a fork of ``warm.py`` does its work, and this ends with it.

It needs nothing but Python, and so starts at once:

    python -I -S standin.py SOCKET PROGRAM [what the program takes]
"""

import socket
import sys

__all__ = ["main"]


def main(path: str, *words: str) -> int:
    """Hand over the words and this process's output, and return how the work ended."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.connect(path)
        socket.send_fds(line, ["\0".join(words).encode()], [0, 1, 2])
        told = line.recv(16)
    return int(told) if told else 1  # nothing is told by one that was killed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
