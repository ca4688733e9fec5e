"""Ctrl-C and SIGTERM during a run: the first ends it after the round, the second at once."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from flexcfl.errors import FlexcflError
from flexcfl.record.run_folders import resume_command

SIGNALS = (signal.SIGINT, signal.SIGTERM)
TIME_OVER = 0  # in place of the number of a signal
NOTICE = b"\nStopping after this round; press Ctrl-C again to stop at once.\n"


@dataclass(eq=False)
class Stop:
    """Whether a run was asked to stop, and by which signal; 0 stands for a time limit."""

    asked: int | None = None

    @property
    def timed_out(self) -> bool:
        """Whether a time limit was reached."""
        return self.asked == TIME_OVER


class StoppedError(FlexcflError):
    """A run or a comparison was stopped early, as requested.

    ``further`` says how to resume, if not with the command for its folder. ``code`` is the exit
    code of a command that this signal stops.
    """

    def __init__(self, how_far: str, folder: Path, stop: Stop, further: str | None = None) -> None:
        super().__init__(f"Stopped {how_far}. To go on: {further or resume_command(folder)}")
        self.code = 128 + (stop.asked or 0)


@contextmanager
def stop_on_signals(tell: bool = True) -> Iterator[Stop]:
    """Treat the first signal as a request to stop, and pass a second one to the old handler.

    Ignored signals stay ignored. Outside the main thread, nothing is handled.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {each: signal.getsignal(each) for each in SIGNALS}
    taken = {each: old for each, old in before.items() if old not in (signal.SIG_IGN, None)}

    def heard(number: int, frame: FrameType | None) -> None:
        if stop.asked is None:
            stop.asked = number
            if tell:
                with suppress(OSError):  # the terminal may be gone
                    os.write(2, NOTICE)  # not through Python's files, which may be in use
            return
        _hand_on(taken[signal.Signals(number)], number, frame)

    for each in taken:
        signal.signal(each, heard)
    try:
        yield stop
    finally:
        for each, old in taken.items():
            if signal.getsignal(each) is heard:
                signal.signal(each, old)


@contextmanager
def stop_after(stop: Stop, seconds: float | None) -> Iterator[None]:
    """Request a stop after this many seconds, unless one was requested; None means no limit."""
    if seconds is None:
        yield
        return

    def over() -> None:
        if stop.asked is None:
            stop.asked = TIME_OVER

    timer = threading.Timer(seconds, over)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hand_on(old: Any, number: int, frame: FrameType | None) -> None:
    signal.signal(number, old)
    if callable(old):
        old(number, frame)
    else:
        signal.raise_signal(number)
