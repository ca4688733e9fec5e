"""What a shell offers when somebody presses the tabulator, and that it can be told to."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flexcfl.cli import main
from tests.waiting import PATIENCE

SHELLS = {
    "bash": (".bash_completions/flexcfl.sh", ".bashrc"),
    "zsh": (".zfunc/_flexcfl", ".zshrc"),
    "fish": (".config/fish/completions/flexcfl.fish", None),
}


def offered(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("_FLEXCFL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - (not words.endswith(" "))))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "first", "never"),
    [
        ("flexcfl ru", "run", "report"),
        ("flexcfl run --alg", "--algorithm", "--rounds"),
        ("flexcfl run --algorithm fl", "flexcfl-rac", "fedavg"),
        ("flexcfl run --dataset f", "fashion-mnist", "digits"),
        ("flexcfl run --shift n", "none", "swap-all"),
        ("flexcfl run --drift m", "mmd", "label-share"),
        ("flexcfl run --model m", "mclr", "cnn"),
        ("flexcfl run --track t", "tensorboard", "mlflow"),
        ("flexcfl compare fedavg i", "ifca-mig", "fedavg"),
        ("flexcfl algorithms c", "cfl", "ifca"),
        ("flexcfl data inspect s", "synthetic", "mnist"),
    ],
)
def test_names_are_offered(
    words: str,
    first: str,
    never: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = offered(words, monkeypatch, capsys).split()
    assert first in said
    assert never not in said


@pytest.mark.parametrize("shell", SHELLS)
def test_it_installs_for_a_shell(shell: str, tmp_path: Path) -> None:
    """In a home of its own, as somebody who uses that shell would do it."""
    script, settings = SHELLS[shell]
    program = "import shellingham; shellingham.detect_shell = lambda: ({0!r}, {0!r})\n"
    program += "from flexcfl.cli import main; raise SystemExit(main(['--install-completion']))"
    environment = {**os.environ, "HOME": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", program.format(shell)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert said.returncode == 0, said.stderr
    assert f"{shell} completion installed" in said.stdout
    assert "flexcfl" in (tmp_path / script).read_text()
    assert settings is None or (tmp_path / settings).exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes_once_it_is_installed(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("flexcfl")
    if not command.exists():
        pytest.skip("the command is not installed beside this Python")
    environment = {**os.environ, "HOME": str(tmp_path)}
    environment["PATH"] = f"{command.parent}{os.pathsep}{environment['PATH']}"
    typed = "COMP_WORDS=(flexcfl run --shift sw); COMP_CWORD=3; _flexcfl_completion flexcfl;"
    lines = f"flexcfl --install-completion >/dev/null; . ~/.bashrc; {typed} echo ${{COMPREPLY[@]}}"
    said = subprocess.run(
        ["bash", "-c", lines], env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert said.stdout.split() == ["swap-all", "swap-part"], said.stderr
