"""Help: complete for every command and option, with an example that works, and quick."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import click
import pytest
import typer

from flexcfl import __version__
from flexcfl.aggregation import RULES
from flexcfl.algorithms import ALGORITHMS
from flexcfl.cli import app, main
from flexcfl.data import DATASETS
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment, ModelSettings, RunSettings
from flexcfl.protocol import Local
from flexcfl.shifts import SHIFTS
from flexcfl.shifts.detection import DETECTORS
from flexcfl.trust.faults import ATTACKS, Faults
from flexcfl.trust.guards import Guards
from flexcfl.trust.privacy import Privacy

ROOT: Any = typer.main.get_command(app)


def walk(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield names, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, *names, name)


COMMANDS = dict(walk(ROOT))


def example_of(command: Any) -> str:
    before, _, example = command.epilog.partition("Example: ")
    assert before == "\b\n"
    return str(example)


@pytest.fixture(params=sorted(COMMANDS), ids=lambda names: " ".join(["flexcfl", *names]))
def names(request: pytest.FixtureRequest) -> tuple[str, ...]:
    found: tuple[str, ...] = request.param
    return found


def test_every_command_says_what_it_does_and_shows_an_example(
    names: tuple[str, ...], terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(40)  # on which the example is on one line too
    command = COMMANDS[names]
    assert command.help
    for flag in ("-h", "--help"):
        assert main([*names, flag]) == 0
    shown = capsys.readouterr().out
    assert example_of(command) in shown.splitlines()[-1]


def test_every_example_can_be_typed(names: tuple[str, ...]) -> None:
    command, words = ROOT, shlex.split(example_of(COMMANDS[names]))
    assert words.pop(0) == "flexcfl"
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    command.make_context("example", words)


def test_no_list_of_commands_cuts_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in ("60", "80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        for names in ((), ("data",)):
            assert main([*names, "--help"]) == 0
            listed = " ".join(capsys.readouterr().out.partition("Commands:")[2].split())
            for below in COMMANDS[names].commands.values():
                sentence = " ".join(below.help.split("\n\n")[0].split())
                assert f"{below.name} {sentence}" in listed


def test_an_option_has_one_value_unless_it_may_be_repeated(names: tuple[str, ...]) -> None:
    command = COMMANDS[names]
    for option in command.params:
        if not isinstance(option, click.Option) or option.is_flag:
            continue
        words = [option.opts[0], "3", option.opts[-1], "5"]
        if option.multiple:
            command.check(click.Context(command), words)
            continue
        with pytest.raises(SettingsError) as told:
            command.check(click.Context(command), words)
        assert str(told.value) == f"'{option.opts[0]}' is given more than once: give it once."


def test_every_parameter_is_explained(names: tuple[str, ...]) -> None:
    command = COMMANDS[names]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{names} {parameter.opts}"
        else:
            assert parameter.metavar in command.help, f"{names} {parameter.name}"


def test_the_help_of_run_fits_a_screen(
    terminal: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    terminal(80)
    main(["run", "--help"])
    assert len(capsys.readouterr().out.splitlines()) <= 48


def test_the_options_that_were_promised_exist() -> None:
    options = {word for option in COMMANDS["run",].params for word in option.opts}
    promised = "algorithm dataset model rounds cohort epochs batch rate groups seed data out device"
    more = ["shift", "drift", "set", "quiet"]
    assert {f"--{name}" for name in [*promised.split(), *more]} <= options


def test_the_command_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("Usage: flexcfl")


def test_a_group_alone_shows_its_help_without_calling_it_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["data"])
    captured = capsys.readouterr()
    assert (captured.out + captured.err).startswith("Usage: flexcfl data")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"flexcfl {__version__}\n"


def test_help_and_mistakes_do_not_wait_for_torch() -> None:
    program = """
import sys
before = set(sys.modules)
import flexcfl
assert set(sys.modules) - before == {"flexcfl"}
from flexcfl.cli import main
assert main(["--help"]) == 0
assert main(["run", "--help"]) == 0
assert main(["run", "--dataset", "minst"]) == 2
heavy = {"torch", "sklearn", "scipy"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_the_package_can_be_run_as_a_module() -> None:
    words = [sys.executable, "-m", "flexcfl", "--version"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout == f"flexcfl {__version__}\n"


def test_every_setting_and_every_choice_of_a_name_is_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["settings"]) == 0
    listed = capsys.readouterr().out
    types: list[Any] = [Local, RunSettings, ModelSettings, Guards, Faults, Privacy]
    types += [dataset.options for dataset in DATASETS.values()]
    named = [item.name for type_ in (Experiment, *types) for item in fields(type_)]
    registries = (ALGORITHMS, SHIFTS, DETECTORS, RULES, ATTACKS, DATASETS)
    for name in [*named, "arrivals", *(name for registry in registries for name in registry)]:
        assert re.search(rf"\b{name}\b", listed), name


@pytest.mark.parametrize(
    ("table", "registry", "kind"),
    [
        ("algorithm", ALGORITHMS, "options"),
        ("shift", SHIFTS, "shift"),
        ("drift", DETECTORS, "detector"),
        ("aggregation", RULES, "rule"),
        ("attack", ATTACKS, "attack"),
    ],
)
def test_a_table_lists_the_options_of_each_name(
    table: str, registry: Mapping[str, Any], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["settings"]) == 0
    lines = re.split(r"^(?=\w)", capsys.readouterr().out, flags=re.MULTILINE)
    (mine,) = (each for each in lines if each.startswith(f"{table}\n"))
    listed: dict[str, set[str]] = {}
    for names, options in re.findall(r"^  ([^:=\n]+): (.+)$", mine, re.MULTILINE):
        listed |= {name: words(options) for name in words(names)}
    expected = {
        name: {item.name for item in fields(getattr(entry, kind))}
        for name, entry in registry.items()
    }
    assert listed == {name: options for name, options in expected.items() if options}


def test_a_table_of_settings_has_values_defaults_and_meanings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["settings", "local"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^rate +number above 0 +0\.03$", shown, re.MULTILINE)
    assert "mini-batch SGD" in shown
    assert main(["settings", "locl"]) == 2
    assert "did you mean 'local'?" in capsys.readouterr().err


def words(text: str) -> set[str]:
    return {word.strip() for word in text.split(",")}


def test_a_mistyped_command_is_answered_with_the_nearest_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rn"]) == 2
    assert capsys.readouterr().err == "Error: No such command 'rn'. Did you mean 'run', 'runs'?\n"
    assert main(["resum"]) == 2
    assert capsys.readouterr().err == "Error: No such command 'resum'. Did you mean 'resume'?\n"
