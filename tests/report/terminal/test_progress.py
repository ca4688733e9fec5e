"""What is seen of a run while it goes on."""

from collections.abc import Iterator, Sequence
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from flexcfl.protocol import Serving
from flexcfl.record.tables import ROUNDS, Round, RoundFigures
from flexcfl.report.terminal.round_progress import show_rounds


def rounds(total: int, every: int = 1, placed: Sequence[int] = ()) -> Iterator[Round]:
    serving = Serving(np.zeros((1, 1), np.float32), np.zeros(1, np.int64))
    for number in range(1, total + 1):
        there = placed[number - 1] if placed else 1000
        accuracy = number / total if number % every == 0 and there == 1000 else None
        none = 0, 0, 0, 0
        seen = accuracy, None, None, None, 1000, 0.25, 0.5
        figures = RoundFigures(number, *seen, 20, 20, there, *none, *none, *none, 1, 1, 1)
        yield Round({ROUNDS: (figures,)}, 1000, serving, None)


def written(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def screen(*, terminal: bool, width: int = 80) -> Console:
    return Console(file=StringIO(), force_terminal=terminal, width=width, color_system=None)


def seen(total: int, every: int = 1, *, terminal: bool, width: int = 80) -> str:
    console = screen(terminal=terminal, width=width)
    handed_on = list(show_rounds(rounds(total, every), total, console))
    assert [done.figures.round for done in handed_on] == list(range(1, total + 1))
    return written(console)


@pytest.mark.parametrize(("terminal", "sign"), [(False, "training, 300 rounds\n"), (True, "0/300")])
def test_something_is_seen_before_the_first_round_is_done(terminal: bool, sign: str) -> None:
    console = screen(terminal=terminal)
    at_first = []

    def slow() -> Iterator[Round]:
        at_first.append(written(console))
        yield from rounds(1)

    list(show_rounds(slow(), 300, console))
    assert sign in at_first[0]


def test_the_time_left_is_told_where_a_round_takes_minutes() -> None:
    now = 0.0
    console = screen(terminal=True)
    console.get_time = lambda: now  # the clock of Rich's progress bars

    def slow() -> Iterator[Round]:
        nonlocal now
        for done in rounds(4):
            now += 75
            yield done

    list(show_rounds(slow(), 20, console))
    assert "0:20:00 left" in written(console).split("\r")[-1]


def test_a_quiet_console_leaves_what_others_print_alone(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=True, force_terminal=True)
    for done in show_rounds(rounds(2), 2, console):
        print(f"mine {done.figures.round}")  # noqa: T201
    assert capsys.readouterr().out == "mine 1\nmine 2\n"


def test_without_a_terminal_the_first_the_last_and_every_tenth_part() -> None:
    first, *lines = seen(200, terminal=False).splitlines()
    assert first == "training, 200 rounds"
    numbers = [int(line.split("/")[0].removeprefix("round")) for line in lines]
    assert numbers == [1, *range(20, 201, 20)]
    assert lines[-1] == "round 200/200  accuracy 100.0%  loss 0.250"


@pytest.mark.parametrize("total", [1, 2, 7, 10, 11])
def test_short_runs_show_first_and_last(total: int) -> None:
    first, *lines = seen(total, terminal=False).splitlines()
    assert first == f"training, {total} {'round' if total == 1 else 'rounds'}"
    assert lines[0].startswith("round")
    assert f"{total}/{total}" in lines[-1]
    assert len(lines) <= total


def test_a_round_that_was_not_evaluated_shows_no_accuracy() -> None:
    lines = seen(3, every=2, terminal=False).splitlines()
    assert lines == [
        "training, 3 rounds",
        "round 1/3  loss 0.250",
        "round 2/3  accuracy 66.7%  loss 0.250",
        "round 3/3  loss 0.250",
    ]


def test_until_all_are_placed_their_number_stands_in_for_the_accuracy() -> None:
    placed = [240, 1000, 800]
    console = screen(terminal=False)
    list(show_rounds(rounds(3, placed=placed), 3, console))
    assert written(console).splitlines()[1:] == [
        "round 1/3  placed 240/1000  loss 0.250",
        "round 2/3  accuracy 66.7%  loss 0.250",
        "round 3/3  placed 800/1000  loss 0.250",
    ]
    bar = screen(terminal=True)
    list(show_rounds(rounds(3, placed=placed), 3, bar))
    assert "placed 800/1000" in written(bar).split("\r")[-1]
    assert "accuracy" not in written(bar).split("\r")[-1]


def test_on_a_terminal_a_bar_that_keeps_the_last_accuracy() -> None:
    last = seen(3, every=2, terminal=True).split("\r")[-1]
    for part in ("round", "3/3", "accuracy 66.7%", "loss 0.250", "left"):
        assert part in last


def test_a_narrow_terminal_gets_what_fits() -> None:
    text = seen(3000, terminal=True, width=40)
    assert "3000/3000" in text
    assert "accuracy 100.0%" in text
    assert "…" not in text
