"""What a ``ServerApp`` tells the command that started it, from both ends of the pipe."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread

import pytest

from flexcfl.errors import SettingsError
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve
from flexcfl.flower.pipe import VARIABLE, Event, PipeReader, reporting
from flexcfl.runner.callbacks import Beginning, Callback, remark
from tests.waiting import until

Act = Callable[[Sequence[Callback]], None]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[PipeReader]:
    with closing(PipeReader(tmp_path / "pipe")) as made:
        yield made


def told(path: Path, act: Act) -> None:
    with suppress(Exception), reporting({VARIABLE: str(path)}) as company:
        act(company)


def heard(reader: PipeReader, path: Path, act: Act) -> list[tuple[str, str]]:
    """Return what is heard of who acts so, until the other end is gone."""
    said: list[tuple[str, str]] = []
    speaker = Thread(target=told, args=(path, act))
    speaker.start()

    def gone() -> bool:
        said.extend(reader.read())
        return bool(said) and said[-1][0] == Event.GONE

    until(gone)
    speaker.join()
    return said


def nothing(_: Sequence[Callback]) -> None:
    pass


def test_who_tells_is_known_and_how_it_ended(tmp_path: Path, reader: PipeReader) -> None:
    assert not list(reader.read())  # as nobody is there yet
    said = heard(reader, tmp_path / "pipe", nothing)
    assert said == [(Event.PID, str(os.getpid())), (Event.DONE, ""), (Event.GONE, "")]
    assert not list(reader.read())


def test_remarks_arrive_in_one_piece(tmp_path: Path, reader: PipeReader) -> None:
    sentence = f"Node 3 is left out: {'größer ' * 2000}."  # more than a pipe takes at once

    def act(_: Sequence[Callback]) -> None:
        print("a remark", file=sys.stderr)  # noqa: T201
        remark(sentence)

    said = heard(reader, tmp_path / "pipe", act)
    text = "".join(each for what, each in said if what == Event.REMARK)
    assert text == f"a remark\n{sentence}\n"


@pytest.mark.parametrize("before", [0, 7])
def test_that_a_run_begins_is_told(tmp_path: Path, reader: PipeReader, before: int) -> None:
    experiment = resolve([SettingsLayer("given", {})]).experiment

    def act(company: Sequence[Callback]) -> None:
        (each,) = company
        each.begin(Beginning(experiment, rounds=[None] * before))  # type: ignore[list-item]

    assert (Event.BEGUN, str(before)) in heard(reader, tmp_path / "pipe", act)


def test_a_mistake_arrives_as_its_sentence(tmp_path: Path, reader: PipeReader) -> None:
    def act(_: Sequence[Callback]) -> None:
        raise SettingsError("It is wrong: correct it.")

    said = heard(reader, tmp_path / "pipe", act)
    assert said[-2:] == [(Event.MISTAKE, "It is wrong: correct it."), (Event.GONE, "")]


def test_who_fails_otherwise_is_gone_without_a_word(tmp_path: Path, reader: PipeReader) -> None:
    def act(_: Sequence[Callback]) -> None:
        raise ConnectionError("the SuperLink is gone")

    assert [what for what, _ in heard(reader, tmp_path / "pipe", act)] == [Event.PID, Event.GONE]


def test_of_two_the_later_one_is_heard(tmp_path: Path, reader: PipeReader) -> None:
    told(tmp_path / "pipe", lambda _: remark("of the first one"))
    reader.reset()
    said = heard(reader, tmp_path / "pipe", nothing)
    assert [what for what, _ in said] == [Event.PID, Event.DONE, Event.GONE]


def test_where_no_command_listens_remarks_are_on_the_own_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with reporting({}) as company:
        remark("a word")
    assert not company
    assert capsys.readouterr().err == "a word\n"


def test_flowers_log_tells_a_mistake_in_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("flwr")
    with reporting({}):
        pass
    before, logger.propagate = logger.propagate, True
    try:
        raise SettingsError("It is wrong: correct it.")
    except SettingsError as error:
        logger.error("ServerApp raised an exception", exc_info=error)
    finally:
        logger.propagate = before
    assert caplog.messages == ["It is wrong: correct it."]
    assert "Traceback" not in caplog.text
