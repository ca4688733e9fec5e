"""Ports of this machine that nobody listens on."""

import socket
from contextlib import ExitStack

from flexcfl.errors import SettingsError

__all__ = ["HOST", "check_free", "free", "is_open"]

HOST = "127.0.0.1"
MOST = 65535


def free(number: int) -> list[int]:
    """Return so many different ports that are free at this moment."""
    with ExitStack() as held:
        ports = []
        for _ in range(number):
            each = held.enter_context(socket.socket())
            each.bind((HOST, 0))
            ports.append(int(each.getsockname()[1]))
        return ports


def check_free(port: int) -> None:
    """Refuse a port that is taken, or that one may not have."""
    if not 1 <= port <= MOST:
        raise SettingsError(f"There is no port {port}: choose one from 1 to {MOST} with --port.")
    with socket.socket() as tried:
        # As a server does, who may have a port again at once that another has just given back.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError as error:
            raise SettingsError(
                f"The SuperLink cannot have port {port} ({error.strerror}): choose another with "
                "--port, or leave it out for one that is free."
            ) from None


def is_open(port: int) -> bool:
    """Whether somebody listens on a port."""
    with socket.socket() as tried:
        tried.settimeout(1.0)
        return tried.connect_ex((HOST, port)) == 0
