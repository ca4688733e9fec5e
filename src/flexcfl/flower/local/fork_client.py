"""Stand-in for a program of Flower: a fork of the fork server does the work, and this one waits.

It needs nothing but Python, so it starts at once:

    python -I -S fork_client.py SOCKET PROGRAM [arguments of the program]

It also ends with its parent. So all processes of a node end if the node is killed, and none of them
is still running when the node is back.
"""

import os
import socket
import sys

LOOK = 0.2  # seconds between two checks whether the parent is alive


def main(path: str, *command: str) -> int:
    """Hand over the command and this process's output, and return the exit code of the fork."""
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(path)
        socket.send_fds(server, ["\0".join(command).encode()], [0, 1, 2])
        server.settimeout(LOOK)
        while os.getppid() == parent:
            try:
                code = server.recv(16)
            except TimeoutError:
                continue
            return int(code) if code else 1  # a fork that was killed sends nothing
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
