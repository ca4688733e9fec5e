"""``flexcfl algorithms``: what there is to choose from."""

from collections.abc import Callable
from dataclasses import fields

import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.cli import main


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["algorithms", *words]) == 0
    return capsys.readouterr().out


def test_every_algorithm_is_listed_with_its_options_and_their_defaults(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(capsys).splitlines()
    for name, entry in ALGORITHMS.items():
        place = lines.index(name)
        assert lines[place + 1] == f"  {entry.summary}"
        for item in fields(entry.options):
            value = "not set" if item.default is None else item.default
            assert f"{item.name} {value}" in lines[place + 2]


def test_in_a_pipe_lines_are_whole_and_without_spaces_at_their_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(capsys).splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert "\x1b" not in "".join(lines)
    optionless = sum(not fields(entry.options) for entry in ALGORITHMS.values())
    assert len(lines) == 3 * len(ALGORITHMS) - optionless


def test_a_narrow_terminal_is_respected(
    capsys: pytest.CaptureFixture[str], terminal: Callable[[int], None]
) -> None:
    terminal(40)
    assert max(map(len, shown(capsys, "flexcfl").splitlines())) <= 40


def test_the_options_of_one_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    told = shown(capsys, "flexcfl")
    assert told.startswith("flexcfl\n")
    for item in fields(ALGORITHMS["flexcfl"].options):
        assert told.count(item.name) >= 2, item.name
    assert "``" not in told
    assert "ifca" not in told


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_each_can_be_asked_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, name).startswith(f"{name}\n  {ALGORITHMS[name].summary}\n")


def test_a_mistyped_name_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["algorithms", "flexclf"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: There is no algorithm 'flexclf': did you mean 'flexcfl'?")
