"""Ctrl-C and SIGTERM while a run goes on: the first ends the round, the second ends all at once."""

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
from flexcfl.record.places import resume_command

__all__ = ["SIGNALS", "Stop", "StoppedError", "stop_after", "stop_on_signals"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
TIME_OVER = 0  # in place of the number of a signal
NOTICE = b"\nThe round is brought to its end; once more (Ctrl-C) stops at once.\n"


@dataclass(eq=False)
class Stop:
    """Whether a run is asked to stop, and by which signal; 0 is the end of its time."""

    asked: int | None = None

    @property
    def timed_out(self) -> bool:
        """Whether it is the end of its time that asks."""
        return self.asked == TIME_OVER


class StoppedError(FlexcflError):
    """A run or a comparison has ended early, as it was asked to.

    ``further`` is how to go on, where that is not the command for its folder. ``code`` is how a
    command ends by that signal.
    """

    def __init__(self, how_far: str, folder: Path, stop: Stop, further: str | None = None) -> None:
        super().__init__(f"Stopped {how_far}. To go on: {further or resume_command(folder)}")
        self.code = 128 + (stop.asked or 0)


@contextmanager
def stop_on_signals(tell: bool = True) -> Iterator[Stop]:
    """Take the first signal for a wish to stop, and hand a second one on to who listened before.

    Signals that are ignored stay so. Outside of the main thread nobody can listen.
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
                    os.write(2, NOTICE)  # not by Python's own files, which may be at it just now
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
    """Ask to stop after so many seconds, unless somebody has asked before; None is no limit."""
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
