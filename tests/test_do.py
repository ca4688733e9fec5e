import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("do", ROOT / "do.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


do = _load()


class Computer:
    """Takes commands as a computer would, does only what leaves a trace, and may fail at one."""

    def __init__(self, environment: Path, fails: str = "nothing") -> None:
        self.environment = environment
        self.fails = fails
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str]) -> int:
        self.commands.append(command)
        if self.fails in command:
            return 3
        if "venv" in command:
            python = do.program(self.environment, "python")
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
        return 0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'flexcfl'\n")
    return tmp_path


@pytest.fixture
def computer(project: Path) -> Callable[..., Computer]:
    return lambda fails="nothing": Computer(project / ".venv", fails)


@pytest.mark.parametrize(("version", "works"), [((3, 10), False), ((3, 11), True), ((3, 14), True)])
def test_an_old_python_is_refused_by_name(version: tuple[int, int], works: bool) -> None:
    why = do.refusal(version)
    assert (why is None) == works
    assert works or why.startswith("flexcfl needs Python 3.11 or newer: this is 3.10,")


def test_the_oldest_python_is_the_one_that_the_package_declares() -> None:
    declared = f'requires-python = ">={do.OLDEST[0]}.{do.OLDEST[1]}"'
    assert declared in (ROOT / "pyproject.toml").read_text().splitlines()


def test_programs_are_found_on_every_system() -> None:
    assert do.program(Path("e"), "flexcfl", "posix") == Path("e", "bin", "flexcfl")
    assert do.program(Path("e"), "flexcfl", "nt") == Path("e", "Scripts", "flexcfl.exe")


def test_installing_makes_the_environment_then_the_project(
    project: Path, computer: Callable[..., Computer]
) -> None:
    machine = computer()
    assert not do.ready(project, "test")
    assert do.install(project, "test", machine) == 0
    environment = project / ".venv"
    assert machine.commands == [
        [sys.executable, "-m", "venv", str(environment)],
        [
            str(do.program(environment, "python")),
            *["-m", "pip", "install", "--editable", f"{project}[test]"],
        ],
    ]
    assert do.ready(project, "test")


def test_what_tests_need_includes_what_runs_need_but_not_the_other_way_round(
    project: Path, computer: Callable[..., Computer]
) -> None:
    do.install(project, "", computer())
    assert do.ready(project, "")
    assert not do.ready(project, "test")
    do.install(project, "test", computer())
    assert do.ready(project, "")
    assert do.ready(project, "test")


@pytest.mark.parametrize("fails", ["venv", "pip"])
def test_a_failed_installation_is_passed_on_and_repeated(
    project: Path, computer: Callable[..., Computer], fails: str
) -> None:
    do.install(project, "", computer())
    assert do.install(project, "test", computer(fails)) == 3
    assert not do.ready(project, "test")
    assert not do.ready(project, "")
    assert do.install(project, "test", computer()) == 0
    assert do.ready(project, "test")


def test_a_changed_project_a_moved_folder_or_a_lost_python_is_installed_again(
    project: Path, computer: Callable[..., Computer]
) -> None:
    do.install(project, "", computer())
    moved = project.parent / f"{project.name}-moved"
    project.rename(moved)
    assert not do.ready(moved, "")
    moved.rename(project)
    assert do.ready(project, "")
    do.program(project / ".venv", "python").unlink()
    assert not do.ready(project, "")
    do.install(project, "", computer())
    assert do.ready(project, "")
    (project / "pyproject.toml").write_text("[project]\nname = 'changed'\n")
    assert not do.ready(project, "")


def test_only_an_environment_of_another_python_is_emptied(
    project: Path, computer: Callable[..., Computer]
) -> None:
    (project / ".venv").mkdir()
    machines = [computer() for _ in range(3)]
    do.install(project, "", machines[0])  # a user's environment, without our stamp
    do.install(project, "", machines[1])
    (project / ".venv" / "flexcfl-installed").write_text(do.mark(project, "", "3.1"))
    assert not do.ready(project, "")
    do.install(project, "", machines[2])
    assert ["--clear" in machine.commands[0] for machine in machines] == [False, False, True]


def test_the_checks_run_in_order_and_pytest_takes_the_arguments(
    project: Path, computer: Callable[..., Computer], capsys: pytest.CaptureFixture[str]
) -> None:
    machine = computer()
    assert do.test(project, ["-k", "data"], machine) == 0
    python = str(do.program(project / ".venv", "python"))
    *checks, tests = machine.commands
    assert checks == [
        [python, "-m", "ruff", "format", "--check"],
        [python, "-m", "ruff", "check"],
        [python, "-m", "mypy"],
    ]
    assert tests[:3] == [python, "-m", "pytest"]
    assert tests[-2:] == ["-k", "data"]
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"==> pytest .* -k data$", lines[-2])
    assert re.match(r"==> pytest .* -k data: passed after \d", lines[-1])


def test_the_first_failing_check_ends_the_test_and_gives_its_exit_code(
    project: Path, computer: Callable[..., Computer], capsys: pytest.CaptureFixture[str]
) -> None:
    machine = computer("mypy")
    assert do.test(project, [], machine) == 3
    assert [command[2] for command in machine.commands] == ["ruff", "ruff", "mypy"]
    assert "mypy: failed with exit code 3 after" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["--help"], 0), (["tset"], 2)])
def test_without_a_task_it_says_how_it_is_used(arguments: list[str], code: int) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "do.py"), *arguments], capture_output=True, text=True
    )
    assert done.returncode == code
    assert "python3 do.py run" in done.stdout
    assert "python3 do.py test" in done.stdout
