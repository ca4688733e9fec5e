"""Signals while a run goes on: the first is a wish, the second is handed on."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexcfl.runner.stopping import SIGNALS, Stop, StoppedError, stop_after, stop_on_signals
from tests.waiting import until

heard: list[int] = []


def note(number: int, _frame: object) -> None:
    heard.append(number)


@pytest.fixture(autouse=True)
def _listeners() -> Iterator[None]:
    """Install a signal handler before, and check it afterwards."""
    heard.clear()
    before = {each: signal.signal(each, note) for each in SIGNALS}
    yield
    for each, old in before.items():
        signal.signal(each, old)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_a_request_and_the_second_reaches_the_earlier_handler(
    number: int,
) -> None:
    with stop_on_signals(tell=False) as stop:
        assert vars(stop) == {"asked": None}
        signal.raise_signal(number)
        assert vars(stop) == {"asked": number}
        assert heard == []
        signal.raise_signal(number)
        signal.raise_signal(number)
        assert heard == [number, number]
    assert stop.asked == number


def test_the_second_may_be_another_one() -> None:
    with stop_on_signals(tell=False) as stop:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert stop.asked == signal.SIGTERM
    assert heard == [signal.SIGINT]


def test_time_that_is_over_is_a_wish_to_stop_unless_there_was_one_before() -> None:
    stop, asked, unlimited = Stop(), Stop(signal.SIGINT), Stop()
    with stop_after(stop, 0.01), stop_after(asked, 0.01), stop_after(unlimited, None):
        until(lambda: stop.asked is not None)
    assert (stop.timed_out, asked.timed_out, unlimited.timed_out) == (True, False, False)
    assert (asked.asked, unlimited.asked) == (signal.SIGINT, None)
    with stop_after(early := Stop(), 0.05):
        pass  # it is done before its time is over
    time.sleep(0.1)
    assert early.asked is None


@pytest.mark.parametrize("number", SIGNALS)
def test_afterwards_all_is_as_before(number: int) -> None:
    with stop_on_signals(tell=False):
        signal.raise_signal(number)
    assert all(signal.getsignal(each) is note for each in SIGNALS)
    signal.raise_signal(number)
    assert heard == [number]


def test_what_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with stop_on_signals(tell=False) as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.asked is None
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.raise_signal(signal.SIGTERM)
        assert stop.asked == signal.SIGTERM


def test_who_takes_a_signal_over_in_between_keeps_it() -> None:
    def other(_number: int, _frame: object) -> None:
        """Do nothing."""

    with stop_on_signals(tell=False):
        signal.signal(signal.SIGINT, other)
    assert signal.getsignal(signal.SIGINT) is other
    assert signal.getsignal(signal.SIGTERM) is note


def test_outside_of_the_main_thread_nobody_listens() -> None:
    stops = []

    def work() -> None:
        with stop_on_signals() as stop:
            stops.append((stop, [signal.getsignal(each) for each in SIGNALS]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [(stop.asked, handlers) for stop, handlers in stops] == [(None, [note, note])]


def test_the_notice_goes_to_stderr_and_may_be_lost(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with stop_on_signals():
        signal.raise_signal(signal.SIGINT)
    assert "Stopping after this round" in capfd.readouterr().err

    def gone(_file: int, _content: bytes) -> int:
        raise OSError(5, "Input/output error")  # as a terminal that was closed gives

    monkeypatch.setattr(os, "write", gone)
    with stop_on_signals() as stop:
        signal.raise_signal(signal.SIGINT)
    assert stop.asked == signal.SIGINT


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_sentence_says_how_to_go_on(number: int, code: int) -> None:
    error = StoppedError("after round 3 of 10", Path("runs", "my run"), Stop(number))
    assert str(error) == "Stopped after round 3 of 10. To go on: flexcfl resume 'runs/my run'"
    assert str(StoppedError("now", Path("-x"), Stop(number))).endswith("flexcfl resume ./-x")
    assert error.code == code
