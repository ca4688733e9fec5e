"""A machine's environment, drawn from a seed: no test may depend on it.

Drawn are the length of the temporary folder's path, the width of the terminal, the time zone, the
locale, the home folder, and the order of modules and of the tests within each.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = ["World", "WorldPlugin", "hear_ctrl_c"]

WIDTHS = (None, "40", "80", "200")  # None: no word of it in the environment
# Written out, because not every machine has a list of zones.
ZONES = ("UTC0", "IST-5:30", "<+13>-13", "NST3:30NDT,M3.2.0,M11.1.0")
LOCALES = ("C", "C.UTF-8")
# The user's own home; none in the environment; or one that cannot be created.
HOMES = {"own": None, "none": None, "unwritable": f"{os.devnull}/home"}
# Other variables that change how text is printed; tests of these set them again.
PLAIN = ("LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
TERMINAL = "xterm"  # Rich always takes a dumb terminal to be 80 columns wide
SHORTEST, LONGEST = 12, 60  # characters of the temporary folder's path
OWN = len("/t-12345678")  # characters that a folder's name has at least


@dataclass(frozen=True)
class World:
    """What was drawn from a seed."""

    seed: int
    columns: str | None
    zone: str
    locale: str
    home: str
    length: int

    @classmethod
    def of(cls, seed: int) -> "World":
        """Draw a world; a seed is always the same one."""
        rng = random.Random(seed)
        width, zone, locale = rng.choice(WIDTHS), rng.choice(ZONES), rng.choice(LOCALES)
        length = rng.randint(SHORTEST, LONGEST)
        return cls(seed, width, zone, locale, rng.choice(list(HOMES)), length)

    @property
    def environment(self) -> Mapping[str, str | None]:
        """Return the variables that say so; None for missing ones."""
        said = {"COLUMNS": self.columns, "TZ": self.zone, "LC_ALL": self.locale}
        return said if self.home == "own" else said | {"HOME": HOMES[self.home]}

    def folder(self, within: str) -> Path:
        """Make a new folder with a path of the drawn length, or as short as possible."""
        room = self.length - len(within) - OWN
        return Path(tempfile.mkdtemp(prefix=f"{'t' * max(room + 1, 1)}-", dir=within))

    def shuffled(self, items: Iterable[pytest.Item]) -> list[pytest.Item]:
        """Return tests in an order of this world, those of a module together."""
        rng = random.Random(self.seed)
        modules: dict[Path, list[pytest.Item]] = {}
        for item in items:
            modules.setdefault(item.path, []).append(item)
        order = list(modules.values())
        rng.shuffle(order)
        for tests in order:
            rng.shuffle(tests)
        return [item for tests in order for item in tests]

    def __str__(self) -> str:
        told = ", ".join(
            f"{name}={value}" if value else f"no {name}" for name, value in self.environment.items()
        )
        return f"--world {self.seed} ({told})"


def hear_ctrl_c() -> None:
    """Let this process and those that it starts hear Ctrl-C.

    Shells and nohup start what goes on in the background without, and tests press it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class WorldPlugin:
    """Holds the tests of a process in a world, and cleans up behind them if all went well."""

    def __init__(self, config: pytest.Config) -> None:
        self.world = World.of(config.getoption("world"))
        self.made: Path | None = None
        if config.option.basetemp is None:  # the processes of xdist are given theirs
            self.made = self.world.folder(tempfile.gettempdir())
            config.option.basetemp = str(self.made)
        self.base = Path(config.option.basetemp)

    @pytest.hookimpl(tryfirst=True)  # before xdist starts processes, which inherit all
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if session.config.pluginmanager.has_plugin("terminalreporter"):
            writer = session.config.get_terminal_writer()
            writer.fullwidth = writer.fullwidth  # pytest's own output keeps its width
        said = {**dict.fromkeys(PLAIN), "TERM": TERMINAL, **self.world.environment}
        if "PYTEST_XDIST_WORKER" not in os.environ:  # all processes share what others have made
            said["MPLCONFIGDIR"] = str(self.base / "matplotlib")
            said["TORCHINDUCTOR_CACHE_DIR"] = str(self.base / "torch")
        for name, value in said.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        if hasattr(time, "tzset"):
            time.tzset()
        hear_ctrl_c()

    def pytest_report_header(self) -> str:
        return f"world: {self.world}, in {self.base}, shuffled"

    @pytest.hookimpl(tryfirst=True)  # so that pytest itself can still group by fixtures
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = self.world.shuffled(items)

    def pytest_terminal_summary(self, exitstatus: int, config: pytest.Config) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            kept = f"; its files are kept in {self.made}" if self.made else ""
            config.get_terminal_writer().line(f"The same world again: {self.world}{kept}")
            self.made = None

    def pytest_unconfigure(self) -> None:
        if self.made is not None:
            shutil.rmtree(self.made, ignore_errors=True)
            if self.made.exists():
                sys.stderr.write(f"'{self.made}' could not be removed: remove it.\n")
