"""A SuperLink and SuperNodes on this machine, which are restarted if they end during a run."""

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexcfl.errors import FlexcflError, TrainingError
from flexcfl.flower import APP
from flexcfl.flower.local.processes import LocalProcess, LocalProcesses
from flexcfl.flower.local.programs import (
    FORK_SERVER,
    HOST,
    Programs,
    environment,
    free_port,
    is_open,
)
from flexcfl.flower.local.run_progress import REGISTER, RunProgress
from flexcfl.flower.pipe import VARIABLE, Event, PipeReader
from flexcfl.record import run_folders
from flexcfl.record.lifecycle import is_finished
from flexcfl.record.tables import RoundFigures

TICK = 0.2  # seconds between two looks at all processes
STARTING = 120.0  # seconds within which a program starts, on any machine
LONG = 70  # bytes of a folder's name; the path of a socket in it may have about 100
RESTARTS = 5  # of one process without a finished round in between
FORKS = sys.platform == "linux"  # elsewhere some system libraries do not survive a fork
SUPERLINK, SERVER = "superlink", "server"  # the server is the program that starts the ServerApp
LEASE = 62.0  # seconds until the SuperLink lets a killed node with a key come back

Tick = Callable[["LocalFederation"], None]


@dataclass(frozen=True)
class FederationPlan:
    """The federation to start.

    Attributes:
        folder: The folder of the run.
        config: The configuration of the app.
        nodes: The number of nodes, each with an equal part of the clients.
        settings: More settings for every node.
        app: The folder of the Flower app.
        port: The port of the SuperLink; by default a free one.
        tls: Whether to use TLS and node keys.
        forked: Whether programs are forks of one process that has imported everything.

    """

    folder: Path
    config: Mapping[str, Any]
    nodes: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    app: Path = APP
    port: int | None = None
    tls: bool = False
    forked: bool = FORKS


@dataclass(eq=False)
class LocalFederation:
    """The processes of a federation on this machine, as a context manager.

    Attributes:
        plan: The federation to start.
        remark: Called with each sentence that the user should read.
        nodes: The nodes that run, by number.
        services: The processes that nodes depend on, by name.
        server: The process id of the ``ServerApp``, or None before it has started.

    Example:
        ::

            plan = FederationPlan(folder, {"experiment": toml, "out": str(folder)}, nodes=4)
            with LocalFederation(plan, print) as federation:
                federation.run()

    """

    plan: FederationPlan
    remark: Callable[[str], None]
    nodes: dict[int, LocalProcess] = field(init=False, default_factory=dict)
    services: dict[str, LocalProcess] = field(init=False, default_factory=dict)
    server: int | None = field(init=False, default=None)
    _progress: RunProgress = field(init=False)
    _stack: ExitStack = field(init=False, default_factory=ExitStack)
    _restarts: Counter[str] = field(init=False, default_factory=Counter)
    _due: dict[int, float] = field(init=False, default_factory=dict)
    _since: float = field(init=False, default=0.0)
    _before: int | None = field(init=False, default=None)
    _done: bool = field(init=False, default=False)

    def __enter__(self) -> "LocalFederation":
        self._progress = RunProgress(self.plan.folder)
        logs = self._progress.logs
        with run_folders.as_folder_error(logs):
            logs.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            self._home = Path(stack.enter_context(_temporary_folder()))
            pipe = self._home / "pipe"
            self._pipe = stack.enter_context(closing(PipeReader(pipe)))
            variables = environment(self._home, {VARIABLE: str(pipe)})
            self._processes = stack.enter_context(LocalProcesses(variables, logs, self._home))
            self._certificates = self._make_certificates() if self.plan.tls else None
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @property
    def groups(self) -> list[int]:
        """The ids of the process groups that belong to it now."""
        return self._processes.groups

    def run(self, tick: Tick | None = None) -> None:
        """Start all processes, and return when the run is done."""
        self.begin()
        for _ in self.rounds(tick):
            pass

    def begin(self) -> int:
        """Start all processes, wait until the run begins, and return the rounds done before."""
        self._start()
        while self._before is None and not self._done:
            self._look()
        return self._before or 0

    def rounds(self, tick: Tick | None = None) -> Iterator[RoundFigures]:
        """Yield each round when the run has written it, until the run is done.

        Args:
            tick: Called a few times a second with this federation.

        Raises:
            FlexcflError: If an error ended the run.

        """
        while not self._done:
            self._look()
            if tick is not None:
                tick(self)
            for done in self._new_rounds():
                self._restarts.clear()
                yield done

    def start_node(self, node: int) -> None:
        """Start the node for a part of the clients."""
        part = {"partition-id": node, "num-partitions": self.plan.nodes}
        config = {**part, "memory": str(self._progress.nodes), **self.plan.settings}
        command = self._programs.supernode(node, free_port(), config)
        self.nodes[node] = self._processes.start(f"node-{node}", command)

    def _new_rounds(self) -> Sequence[RoundFigures]:
        # Until the run begins again, the last round may be one that it has to repeat.
        return [] if self._before is None else self._progress.new_rounds()

    def _look(self) -> None:
        """Handle the reports of the ``ServerApp``, and restart processes that have ended."""
        time.sleep(TICK)
        for event, text in self._pipe.read():
            self._handle(event, text)
            if self._done:
                return
        self._watch()

    def _handle(self, event: Event, text: str) -> None:
        if event == Event.PID:
            self.server = int(text)
        elif event == Event.BEGUN:
            self._before = int(text)
            self._progress.skip(self._before)
        elif event == Event.REMARK:
            self.remark(text)
        elif event == Event.MISTAKE:
            raise FlexcflError(text)
        elif event == Event.DONE or is_finished(self.plan.folder):  # a finished run may be GONE
            self._done = True
        else:
            assert event == Event.GONE
            self._start_again(SERVER, "before the run was done")

    def _watch(self) -> None:
        """Restart what has ended."""
        for name, process in self.services.items():
            if process.end is not None:
                self._start_again(name, process.end)
                return
        if self.server is None and time.monotonic() - self._since > STARTING:
            self._start_again(SERVER, f"not started after {STARTING:g} s")
            return
        self._watch_nodes()

    def _watch_nodes(self) -> None:
        now = time.monotonic()
        for node, process in list(self.nodes.items()):
            if process.end is not None:
                when = f"in {LEASE:g} s" if self.plan.tls else "now"
                self._report_end(process.name, process.end, f"it is restarted {when}")
                self._processes.end(process)  # the processes that it started may still run
                del self.nodes[node]
                self._due[node] = now + (LEASE if self.plan.tls else 0.0)
        for node in [node for node, due in self._due.items() if due <= now]:
            del self._due[node]
            self.start_node(node)

    def _start_again(self, name: str, why: str) -> None:
        then = "continues from its checkpoint" if self._progress.can_resume else "starts over"
        self._report_end(name, why, f"all programs are restarted, and the run {then}")
        there = {*self.nodes, *self._due}
        self._processes.end_all()
        self._pipe.reset()
        self._progress.clean_up()
        self._start(there)

    def _report_end(self, name: str, why: str, then: str) -> None:
        """Report that a process has ended, or raise ``TrainingError`` if it ends too often."""
        self._restarts[name] += 1
        if self._restarts[name] > RESTARTS:
            raise TrainingError(
                f"The {_title(name)} has ended {self._restarts[name]} times without a finished "
                f"round ({why}): read its log in '{self._progress.logs}', then try again."
            )
        self.remark(f"The {_title(name)} has ended ({why}): {then}.\n")

    def _start(self, nodes: set[int] | None = None) -> None:
        port = free_port() if self.plan.port is None else self.plan.port
        self._programs = Programs(self._home, port, self._certificates)
        self.server, self._before, self._due, self.nodes, self.services = None, None, {}, {}, {}
        self._programs.connect()
        if self.plan.forked:
            self._start_service(FORK_SERVER, self._programs.fork_server())
        self._start_service(SUPERLINK, self._programs.superlink())
        self._wait(lambda: is_open(port))
        self._wait(lambda: not self.plan.forked or self._programs.door.exists())
        self._start_service(SERVER, self._programs.superexec())
        if self._certificates is not None:
            self._register()
        for node in sorted(nodes or range(self.plan.nodes)):
            self.start_node(node)
        self._submit()
        self._since = time.monotonic()

    def _start_service(self, name: str, command: list[str]) -> None:
        self.services[name] = self._processes.start(name, command)

    @property
    def _all_up(self) -> bool:
        """Whether all started services still run."""
        return all(each.end is None for each in self.services.values())

    def _submit(self) -> None:
        config = self.plan.config
        if self._progress.can_resume:
            folder = str(self.plan.folder)
            config = {"out": folder, "resume": True, "track": config.get("track", "")}
        self._run_commands("submit", [self._programs.submit(self.plan.app, config)])

    def _register(self) -> None:
        nodes = range(self.plan.nodes)
        self._run_commands(REGISTER, [self._programs.register(node) for node in nodes])

    def _run_commands(self, name: str, commands: list[list[str]]) -> None:
        """Run commands at the same time and wait for them, because each takes seconds."""
        started = [self._processes.start(name, command) for command in commands]
        self._wait(lambda: all(each.end is not None for each in started))
        failed = any(each.end != "exit code 0" for each in started)
        for each in started:
            self._processes.end(each)
        if failed and self._all_up:
            raise TrainingError(
                f"Flower's command to {name} has failed: read why in "
                f"'{self._progress.logs}/{name}.log', then try again."
            )

    def _wait(self, there: Callable[[], bool]) -> None:
        """Wait until ``there()`` holds or a service ends, which is handled later."""
        end = time.monotonic() + STARTING
        while not there() and self._all_up and time.monotonic() < end:
            time.sleep(TICK / 4)

    def _make_certificates(self) -> Any:
        from flexcfl.flower import certificates

        folder = self._home / "certificates"
        return certificates.make_certificates(folder, [HOST, "localhost"], self.plan.nodes)


def _temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """Make a temporary folder with a name that is short enough for a socket's path."""
    long = len(os.fsencode(tempfile.gettempdir())) > LONG
    folder = "/tmp" if long else None
    return tempfile.TemporaryDirectory(prefix="flexcfl-", dir=folder, ignore_cleanup_errors=True)


def _title(name: str) -> str:
    words = {
        SUPERLINK: "SuperLink",
        SERVER: "ServerApp",
        FORK_SERVER: "process behind all programs",
    }
    return words.get(name, name.replace("-", " "))
