"""Waiting for what comes sooner or later, however busy the machine is."""

import time
from collections.abc import Callable

__all__ = ["PATIENCE", "until"]

PATIENCE = 180.0  # seconds after which something hangs


def until(there: Callable[[], bool]) -> None:
    """Wait for something."""
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end
        time.sleep(0.02)
