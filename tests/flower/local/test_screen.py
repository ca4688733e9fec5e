"""The line between a ``ServerApp`` and the command that shows its run, both ends of it."""

import io
import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from flexcfl.errors import SettingsError
from flexcfl.flower.local.listening import GONE, Listener
from flexcfl.flower.screen import DONE, ERRORS, MISTAKE, OUTPUT, PID, Screen, screen


def heard(tmp: Path, there: Console, show: Callable[[Console], None]) -> list[tuple[str, str]]:
    """Return what arrives of what somebody shows, until the line is gone."""
    said: list[tuple[str, str]] = []
    with Listener(tmp / "screen") as listener:
        told = Screen.of(there, str(listener.path)).environment
        speaker = threading.Thread(target=_speak, args=(told, show))
        speaker.start()
        while not said or said[-1][0] != GONE:
            said += listener.heard(5)
        speaker.join()
        assert not listener.connected
    return said


def _speak(told: dict[str, str], show: Callable[[Console], None]) -> None:
    try:
        with screen(told) as console:
            show(console)
    except Exception:
        return


def printed(said: list[tuple[str, str]], what: str = OUTPUT) -> str:
    return "".join(text for each, text in said if each == what)


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_shown_is_what_would_be_shown_there(tmp: Path, terminal: bool) -> None:
    def show(console: Console) -> None:
        console.print("a word " * 30, style="bold")
        console.print("größer", 3)

    def made() -> Console:
        return Console(file=io.StringIO(), force_terminal=terminal, width=50)

    here = made()
    show(here)
    said = heard(tmp, made(), show)
    assert isinstance(here.file, io.StringIO)
    assert printed(said) == here.file.getvalue()
    assert said[0] == (PID, str(os.getpid()))
    assert [what for what, _ in said[-2:]] == [DONE, GONE]


def test_a_quiet_console_stays_quiet(tmp: Path) -> None:
    said = heard(tmp, Console(quiet=True), lambda console: console.print("a word"))
    assert printed(said) == ""


def test_remarks_arrive_as_such(tmp: Path) -> None:
    said = heard(tmp, Console(), lambda _: print("a remark", file=sys.stderr))  # noqa: T201
    assert printed(said, ERRORS) == "a remark\n"


def test_a_mistake_arrives_as_its_sentence(tmp: Path) -> None:
    def fail(_: Console) -> None:
        raise SettingsError("It is wrong: mend it.")

    said = heard(tmp, Console(), fail)
    assert said[-2:] == [(MISTAKE, "It is wrong: mend it."), (GONE, "")]


def test_who_fails_otherwise_is_gone_without_a_word(tmp: Path) -> None:
    def fail(_: Console) -> None:
        raise ConnectionError("the SuperLink is gone")

    assert [what for what, _ in heard(tmp, Console(), fail)] == [PID, GONE]


def test_without_a_screen_it_is_the_own_output(capsys: pytest.CaptureFixture[str]) -> None:
    with screen({}) as console:
        console.print("a word")
    assert capsys.readouterr().out == "a word\n"


def test_flowers_log_tells_a_mistake_in_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("flwr")
    with screen({}):
        pass
    before, logger.propagate = logger.propagate, True
    try:
        raise SettingsError("It is wrong: mend it.")
    except SettingsError as error:
        logger.error("ServerApp raised an exception", exc_info=error)
    finally:
        logger.propagate = before
    assert caplog.messages == ["It is wrong: mend it."]
    assert "Traceback" not in caplog.text


def test_the_environment_is_text_that_other_processes_read(tmp_path: Path) -> None:
    (told,) = Screen.of(Console(width=70, height=20), str(tmp_path)).environment.values()
    assert json.loads(told)["width"] == 70
