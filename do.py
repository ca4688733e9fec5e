"""Set up flexcfl and run it, or set it up and test it, with Python and pip alone.

    python3 do.py run  [arguments of `flexcfl compare`]  a comparison; without arguments, a demo
    python3 do.py test [arguments of pytest]             format, lint, types and tests

Both install into the virtual environment .venv next to this file, and create it if necessary. On
Linux, set PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu to get the much smaller PyTorch
without GPU support.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXTRAS = {"run": "", "test": "test"}


def refusal(version: tuple[int, int]) -> str | None:
    """Return why this Python is too old, or None if it is not."""
    if version >= OLDEST:
        return None
    found, needed = (".".join(map(str, each)) for each in (version, OLDEST))
    return f"flexcfl needs Python {needed} or newer: this is {found}, start do.py with a newer one."


def program(environment: Path, name: str, system: str = os.name) -> Path:
    """Return the path of a program in a virtual environment."""
    folder, suffix = ("Scripts", ".exe") if system == "nt" else ("bin", "")
    return environment / folder / f"{name}{suffix}"


def mark(root: Path, extra: str, python: str = PYTHON) -> str:
    """Return a digest that changes when the installation has to be repeated."""
    parts = [(root / "pyproject.toml").read_bytes(), str(root).encode(), extra.encode()]
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    return f"{python} {digest}"


def ready(root: Path, extra: str) -> bool:
    """Whether the last successful installation into .venv is still valid."""
    stamp = root / ".venv" / "flexcfl-installed"
    here = stamp.exists() and program(root / ".venv", "python").exists()
    return here and mark(root, extra) in stamp.read_text().splitlines()


def install(root: Path, extra: str, call: Callable[[list[str]], int]) -> int:
    """Create or repair .venv, install the project into it, and record the success."""
    environment = root / ".venv"
    stamp = environment / "flexcfl-installed"
    # Empty only an environment that do.py made, and only if it belongs to another Python.
    stale = stamp.exists() and not stamp.read_text().startswith(f"{PYTHON} ")
    stamp.unlink(missing_ok=True)
    say(f"Making the virtual environment {environment}")
    code = call([sys.executable, "-m", "venv", *["--clear"] * stale, str(environment)])
    if code:
        say("Python could not create it; on Debian and Ubuntu, install python3-venv first.")
        return code
    say("Installing flexcfl and its dependencies; the first time this takes some minutes")
    target = f"{root}[{extra}]" if extra else str(root)
    python = str(program(environment, "python"))
    code = call([python, "-m", "pip", "install", "--editable", target])
    if code:
        say("The installation failed; fix what pip reports above, then run the same command again.")
        return code
    stamp.write_text("\n".join(sorted({mark(root, ""), mark(root, extra)})))
    return 0


def checks(arguments: list[str]) -> list[list[str]]:
    """Return the commands of the test task, in order; the first failure ends it."""
    # One process for each core, at most four: each takes a gigabyte.
    tests = ["pytest", "--numprocesses=auto", "--maxprocesses=4", "--dist=worksteal", *arguments]
    return [["ruff", "format", "--check"], ["ruff", "check"], ["mypy"], tests]


def test(root: Path, arguments: list[str], call: Callable[[list[str]], int]) -> int:
    """Run the checks, announce and time each, and return the first failure's exit code."""
    for command in checks(arguments):
        say(" ".join(command))
        start = time.perf_counter()
        code = call([str(program(root / ".venv", "python")), "-m", *command])
        verdict = f"failed with exit code {code}" if code else "passed"
        say(f"{' '.join(command)}: {verdict} after {time.perf_counter() - start:.1f} s")
        if code:
            return code
    return 0


def say(line: str) -> None:
    """Print a line immediately, even if output is redirected."""
    print(f"==> {line}", flush=True)


def main(arguments: list[str]) -> int:
    """Run the task that the first argument names, and return its exit code."""
    why = refusal(sys.version_info[:2])
    if why:
        print(why, file=sys.stderr)
        return 2
    if not arguments or arguments[0] not in EXTRAS:
        print(__doc__)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    task, *rest = arguments
    code = 0 if ready(ROOT, EXTRAS[task]) else install(ROOT, EXTRAS[task], subprocess.call)
    if code:
        return code
    if task == "run":
        return subprocess.call([str(program(ROOT / ".venv", "flexcfl")), "compare", *rest])
    os.chdir(ROOT)
    return test(ROOT, rest, subprocess.call)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
