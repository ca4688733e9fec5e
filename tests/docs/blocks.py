"""Runs the code blocks of a page as a reader would: in their order, in one folder.

============= ===============================================================================
``python``    executed, in one namespace for the page; with ``>>>`` as a session; with a title
              (```` ```python title="mine.py" ````) written to that file as well
``console``   every command runs; if some lines begin with ``$``, the others are output
``sh``        the same, the whole block by bash
``toml``      written to the file that its title names, and understood as an experiment
``text``      not run, nor are the others in ``SHOWN``
============= ===============================================================================

Long commands are shortened in nothing but their length, by the one rule in ``shortened``. What
cannot run is in the one table ``NOT_RUN``, with the reason.
"""

import doctest
import gzip
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexcfl.cli import main
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve

__all__ = [
    "INSTEAD",
    "NOT_RUN",
    "PAGES",
    "ROOT",
    "SHOWN",
    "Block",
    "Reader",
    "blocks",
    "commands",
    "every_command",
    "needs_data",
    "reason_not_to_run",
    "shortened",
]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = ("text", "ini", "output", "json", "csv")
FENCE = re.compile(
    r"(?:^<!-- (?P<step>step: [a-z ]+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>[\w-]*)(?: +title=\"(?P<title>[^\"]+)\")?[^\n]*\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
REAL = re.compile(r"\b(?:fe|fashion-)?mnist\b")
PATIENCE = 300  # seconds for one command

# What the tests do not run unchanged: pages (a pattern of their path), the command, and why.
NOT_RUN: tuple[tuple[str, str, str], ...] = (
    (r".*", r"pip install .*", "it takes a network, and changes the environment of the tests"),
    (r".*", r"python3 -m venv .*", "the tests run in an environment that is there already"),
    (r".*", r"source \.venv/bin/activate", "the tests run in an environment that is there already"),
    (r".*", r"python3 do\.py .*", "it sets up an environment; tests/test_do.py has it do so"),
    (r"CONTRIBUTING\.md", r"python -m pytest .*", "the tests run already"),
    (r".*", r"python -m tools\.reference", "it rewrites pages; test_reference.py compares them"),
    (r".*", r"mkdocs serve", "it serves until it is ended; the site is built in test_site.py"),
    (r".*", r"tensorboard --logdir .*", "it serves until it is ended"),
    (
        r"docs/commands\.md",
        r"flexcfl place .*",
        "its file is the reader's; docs/models.md makes one",
    ),
    (
        r"docs/commands\.md",
        r"flexcfl (compare .*|reproduce .*|bench)",
        "which-command.md runs these commands, and test_help.py parses what stands here",
    ),
    (
        r"docs/tracking\.md",
        r"flexcfl (compare|federate) .*",
        "tests/runner/tracking/test_commands.py does that, and reads what was tracked",
    ),
    (r"docs/which-command\.md", r"flexcfl bench", "tests/cli/test_bench_command.py runs it"),
    (r"docs/which-command\.md", r"flexcfl federate .*", "docs/deploy.md runs one"),
    (
        r"docs/(which-command|commands)\.md",
        r"flexcfl watch .*",
        "docs/report.md runs the same",
    ),
    (r"docs/flower\.md", r"step: .*", "tests/flower/test_deployment.py does these steps"),
)
# Replacements for commands of a page, which write a folder of the same name.
INSTEAD: dict[tuple[str, str], str] = {
    (
        "docs/commands.md",  # docs/deploy.md has one over nodes, a test one without a file
        "flexcfl federate --nodes 4 --dataset digits",
    ): "flexcfl run --dataset digits",
}
ROUNDS, SEEDS, JOBS, NODES = 2, 1, 1, 2
FEW = 12  # rounds that need not be fewer
LONG = {
    "run": ("rounds",),
    "federate": ("rounds", "nodes"),
    "bench": ("rounds",),
    "compare": ("rounds", "seeds", "jobs"),
    "reproduce": ("rounds", "seeds", "jobs"),
}


@dataclass(frozen=True)
class Block:
    """A block of a page, which is named by its path in the repository."""

    page: str
    line: int
    language: str
    title: str | None
    text: str
    step: str | None = None  # <!-- step: server start --> above a block that is done elsewhere


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in their order."""
    text, name = page.read_text("utf-8"), page.relative_to(ROOT).as_posix()
    return [
        Block(
            name,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            found["title"],
            re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
            found["step"],
        )
        for found in FENCE.finditer(text)
    ]


def commands(block: Block) -> list[str]:
    """Return the commands of a block for the terminal, without prompts, remarks and output."""
    if block.step or block.language == "sh":
        return [block.step or block.text]
    lines = block.text.replace("\\\n", " ").splitlines()
    prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    said = [re.sub(r"(^|\s+)# .*", "", line).strip() for line in prompted or lines]
    return [line for line in said if line]


def reason_not_to_run(page: str, command: str) -> str | None:
    """Return why a command of a page is not run, or None if it is."""
    return next(
        (
            reason
            for pages, pattern, reason in NOT_RUN
            if re.fullmatch(pages, page) and re.fullmatch(pattern, command)
        ),
        None,
    )


def needs_data(block: Block) -> bool:
    """Whether a block is about a data set that has to be downloaded."""
    runs = block.language in ("console", "python") and bool(REAL.search(block.text))
    return runs and any(
        reason_not_to_run(block.page, each) is None and REAL.search(each)
        for each in (commands(block) if block.language == "console" else [block.text])
    )


def shortened(words: list[str], folder: Path) -> list[str]:
    """Return the arguments of a ``flexcfl`` command with fewer rounds and seeds, and few processes.

    Nothing else changes. The number of rounds stays if it is small already, and is large enough
    for clients that arrive later. Over a network, a round takes as long as hundreds here, so one
    is enough, unless a page runs the same file in both ways.
    """
    if words == ["reproduce"]:  # which only lists
        return words
    lengths = {
        "rounds": _rounds(words, folder),
        "seeds": SEEDS,
        "jobs": JOBS,
        "nodes": NODES if "--nodes" in words else None,
    }
    short = list(words)
    for name in LONG.get(words[0], ()):
        if not lengths[name]:
            continue
        option, value = f"--{name}", str(lengths[name])
        if option in short:
            short[short.index(option) + 1] = value
        else:
            short += [option, value]
    return short


def _rounds(words: list[str], folder: Path) -> int | None:
    """Return how many rounds are enough, or nothing if few are requested."""
    files = [folder / word for word in words if word.endswith(".toml")]
    if words[0] == "federate" and not files:
        return 1
    told = [*(file.read_text("utf-8") for file in files if file.is_file()), " ".join(words)]
    asked = [int(each) for text in told for each in re.findall(r"\brounds(?: ?= ?| )(\d+)", text)]
    if asked and asked[-1] <= FEW:
        return None
    arrivals = [int(each) for text in told for each in re.findall(r"\bround ?= ?(\d+)", text)]
    return max([ROUNDS, *arrivals])


@dataclass
class Reader:
    """A reader who follows a page, in a folder."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})

    def do(self, block: Block) -> None:
        """Run a block, and raise an error that names it if it fails."""
        doing: Mapping[str, Callable[[Block], None]] = {
            "python": self._python,
            "pycon": self._session,
            "console": self._console,
            "sh": self._console,
            "toml": self._toml,
        }
        if block.step and reason_not_to_run(block.page, block.step):
            return
        try:
            doing[block.language](block)
        except BaseException as error:
            error.args = (f"{block.page}, line {block.line}: {error}",)
            raise

    def _python(self, block: Block) -> None:
        if block.text.startswith(">>> "):
            return self._session(block)
        if block.title:
            self._write(block)
        file = f"{block.page}:{block.line}"
        exec(compile(block.text, file, "exec"), self.names)
        return None

    def _session(self, block: Block) -> None:
        parsed = doctest.DocTestParser().get_doctest(
            block.text, self.names, block.page, block.page, block.line
        )
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(parsed, clear_globs=False)
        assert not runner.failures, "a session gives something else"
        self.names.update(parsed.globs)

    def _toml(self, block: Block) -> None:
        tables = tomllib.loads(block.text)
        if block.title:
            self._write(block)
        if block.title != "pyproject.toml":
            resolve([SettingsLayer("file", tables)])

    def _write(self, block: Block) -> None:
        path = self.folder / (block.title or "")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _console(self, block: Block) -> None:
        for command in commands(block):
            if reason_not_to_run(block.page, command) is None:
                self._command(INSTEAD.get((block.page, command), command))

    def _command(self, command: str) -> None:
        words = shlex.split(command) if command.startswith("flexcfl") else []
        if words[1:2] == ["watch"]:
            self._watch(words[1:])
        elif words:
            code = main(shortened(words[1:], self.folder))
            assert code == 0, f"{command} ended with {code}"
        else:
            self._process(["bash", "-euc", command])

    def _process(self, words: list[str]) -> None:
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stderr}"

    def _watch(self, words: list[str]) -> None:
        """Watch until the page is there, then press Ctrl-C."""
        watching = subprocess.Popen(
            [*FLEXCFL, *words],
            cwd=self.folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert watching.stdout is not None
            address = re.search(r"http://\S+", watching.stdout.readline())
            assert address, "nothing is served"
            with urllib.request.urlopen(address[0], timeout=PATIENCE) as page:
                assert gzip.decompress(page.read()).startswith(b"<!DOCTYPE html>")
        finally:
            watching.send_signal(signal.SIGINT)
            watching.communicate(timeout=PATIENCE)


FLEXCFL = (sys.executable, "-m", "flexcfl")


def _environment() -> dict[str, str]:
    """Return an environment in which ``python`` and ``flexcfl`` are those of the tests."""
    here = str(Path(sys.executable).parent)
    path = os.pathsep.join([here, os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path}


def every_command() -> Iterator[tuple[str, str]]:
    """Yield every command of every page, with the page."""
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("console", "sh"):
                yield from ((block.page, command) for command in commands(block))
