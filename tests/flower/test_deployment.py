"""The commands of docs/flower.md, executed as they are there, and those who are to be kept out."""

import json
import re
import shutil
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from flower_faults import table
from rich.console import Console
from sklearn.datasets import load_digits

pytest.importorskip("flwr")

from flexcfl.data.federation import placeholder_federation
from flexcfl.errors import DataError, SettingsError
from flexcfl.flower import certificates
from flexcfl.flower.local.programs import free_port
from flexcfl.flower.node_clients import NodeSettings
from flexcfl.flower.own_data import own_federation
from flexcfl.flower.server import serve
from tests.flower.inprocess import InProcessGrid, shards
from tests.flower.processes import Program, Programs

PAGE = Path(__file__).parents[2] / "docs" / "flower.md"
STEP = re.compile(r"<!-- step: ([a-z ]+) -->\n```[a-z]+\n(.*?)```", re.DOTALL)
RUNNING = "Uvicorn running on"
STEPS = dict(STEP.findall(PAGE.read_text()))


class Deployment:
    """A server and two nodes, each in a folder of its own, with the steps of the page."""

    def __init__(self, programs: Programs, folder: Path) -> None:
        self.programs, self.port = programs, free_port()
        self.settings = {"SERVER": "127.0.0.1", "LISTEN": "127.0.0.1", "PORT": self.port}
        self.server, self.nodes = folder / "server", [folder / "node-0", folder / "node-1"]
        for each in (self.server, *self.nodes):
            each.mkdir()

    def step(self, name: str, folder: Path, **settings: object) -> Program:
        log = f"{folder.name} {name}"
        command = ["bash", "-euc", STEPS[name]]
        return self.programs.start(log, command, folder, {**self.settings, **settings})

    def done(self, *steps: Program) -> None:
        for step in steps:
            assert step.ended() == 0, step.said

    def make_keys(self) -> None:
        self.done(
            self.step("server keys", self.server),
            *[self.step("node keys", node) for node in self.nodes],
        )
        (self.server / "nodes").mkdir()
        for node in self.nodes:  # as the page tells a person to do
            shutil.copy(self.server / "keys" / "ca.crt", node / "keys")
            shutil.copy(node / "keys" / "node.key.pub", self.server / "nodes" / f"{node.name}.pub")

    def write_files(self) -> None:
        digits = load_digits()
        x, y = (digits.images / 16).astype(np.float32), digits.target
        for own, node in enumerate(self.nodes):
            (node / "data").mkdir()
            train, test = slice(own, 400, 2), slice(400 + own, 600, 2)
            file = node / "data" / "client.npz"
            np.savez(file, x_train=x[train], y_train=y[train], x_test=x[test], y_test=y[test])
        (self.server / "experiment.toml").write_text(STEPS["experiment"])

    def start(self) -> None:
        self.step("server start", self.server).until(RUNNING)
        self.done(self.step("server register", self.server))
        self.started = [
            self.step("node start", node, CLIENT=number, NODE_PORT=free_port())
            for number, node in enumerate(self.nodes)
        ]

    def crash(self) -> None:
        """Let the server's machine fail in the second round, and be there again."""
        for node in self.started:
            node.until("ROUND 2]")
        self.programs.kill(self.server)
        self.step("server start", self.server).until(RUNNING)

    def listed(self) -> list[str]:
        """Return how the server sees each node that it knows."""
        command = ["flwr", "supernode", "list", "federation", "--format", "json"]
        listed = self.programs.start("list", command)
        self.done(listed)
        nodes = json.loads(listed.said[listed.said.index("{") :])["nodes"]
        return [node["status"] for node in nodes]


# Runs each command in a fork of its own, so that Flower is imported once for all of them, and says
# at last with which status each has ended.
FORKS = """
import json, os, sys
from flwr.superlink.cli import flower_superlink
from flwr.supernode.cli import flower_supernode
forks = {}
for name, log, words in json.loads(sys.argv[1]):
    fork = os.fork()
    if fork == 0:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        sys.argv = [str(word) for word in words]
        sys.exit(flower_superlink() if words[0] == "flower-superlink" else flower_supernode())
    forks[fork] = name
print(json.dumps({forks[fork]: status for fork, status in (os.wait() for _ in forks)}))
"""
# None of them is ever asked for an app, so none has to have a process that would start it.
APPLESS = ("--isolation", "process")


class Uninvited:
    """Programs that cannot work, each with what it is to say before it ends."""

    def __init__(self, programs: Programs, folder: Path, server: Path, port: int) -> None:
        self.programs, self.folder, self.server, self.port = programs, folder, server, port
        self.commands: dict[str, list[object]] = {}
        self.says: dict[str, tuple[str, ...]] = {}
        self.made = certificates.make_certificates(
            folder / "old", ["127.0.0.1"], 1, timedelta(minutes=-1)
        )

    def superlink(self, port: int) -> list[object]:
        made = self.made.server
        tls = ["--ssl-ca-certfile", made.ca, "--ssl-certfile", made.certificate]
        tls += ["--ssl-keyfile", made.key]
        return ["flower-superlink", "--host", "127.0.0.1", "--port", port, *tls, *APPLESS]

    def node(self, name: str, says: str | tuple[str, ...], port: int, *options: object) -> None:
        there = ["--superlink", f"127.0.0.1:{port}", "--port", free_port(), *APPLESS]
        self.commands[name] = ["flower-supernode", *there, "--max-retries", 1, *options]
        self.says[name] = (says,) if isinstance(says, str) else says

    def start(self) -> None:
        ca = ["--root-certificates", self.server / "keys" / "ca.crt"]
        key = ["--auth-supernode-private-key", self.made.nodes[0].key]
        self.node("stranger", "[code: 2004] Failed to activate SuperNode.", self.port, *ca, *key)
        self.node("no key", "[code: 2001] SuperNode authentication is enabled.", self.port, *ca)
        cut_off = ("Server disconnected without", "Connection reset by peer")  # whichever is first
        self.node("no TLS", cut_off, self.port, "--insecure")
        self.node("wrong address", "Connection refused", free_port(), *ca, *key)
        self.commands["taken port"] = self.superlink(self.port)
        self.says["taken port"] = ("address already in use",)
        port, authority = free_port(), self.made.server.ca
        self.node("late", "certificate has expired", port, "--root-certificates", authority)
        self.programs.start("expired", self.superlink(port)).until(RUNNING)
        told = [(name, f"{name}.log", words) for name, words in self.commands.items()]
        words = [sys.executable, "-c", FORKS, json.dumps(told, default=str)]
        self.forks = self.programs.start("uninvited", words)

    def check(self) -> None:
        assert self.forks.ended() == 0, self.forks.said
        ends = json.loads(self.forks.said.splitlines()[-1])
        for name, says in self.says.items():
            said = (self.folder / f"{name}.log").read_text(errors="replace")
            assert ends[name] != 0
            assert any(sentence in said for sentence in says), said
            assert all(map(explained, says))


@pytest.mark.slow
@pytest.mark.processes
def test_the_commands_of_the_page_make_a_federation_that_keeps_strangers_out(
    tmp_path: Path,
) -> None:
    with Programs(tmp_path) as programs:
        deployment = Deployment(programs, tmp_path)
        deployment.make_keys()
        deployment.write_files()
        deployment.start()
        deployment.step("run", deployment.server)
        deployment.crash()
        resumed = deployment.step("resume", deployment.server)
        uninvited = Uninvited(programs, tmp_path, deployment.server, deployment.port)
        uninvited.start()
        uninvited.check()
        deployment.done(resumed)
        assert deployment.listed() == ["online", "online"]
    assert re.search(r"resumed +after round 1 of 2", resumed.said)
    check_run(deployment.server / "runs" / "first", resumed.said)
    for node in deployment.nodes:
        assert any((node / "memory").rglob("*.json"))


def check_run(folder: Path, said: str) -> None:
    assert "round 2/2" in said, said
    rounds = table(folder / "rounds.csv")
    assert [row["trained"] for row in rounds] == ["2", "2"]
    sent = [(row["order"], row["messages"]) for row in table(folder / "messages.csv")]
    assert sent == [("train", "2"), ("train", "2"), ("evaluate", "2")]
    assert not (folder / "missing.csv").exists()
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["clients"] == 2  # there is room for more, who did not come
    assert summary["accuracy"]["final"] > 0.7


def explained(sentence: str) -> bool:
    """Whether the page's table of mistakes has how a sentence begins, whatever its numbers."""
    table = PAGE.read_text().partition("## Common mistakes")[2]
    words = re.sub(r"\d+(\\\.\d+)?", r"[0-9.]+", re.escape(sentence[:35]))
    return re.search(words, table) is not None


@pytest.mark.parametrize("change", ["run.cohort=20", "network.nodes=2"])
def test_the_page_explains_why_a_run_cannot_begin(change: str, tmp_path: Path) -> None:
    cohort = "" if "run.cohort" in change else "run.cohort=10"
    said = f"data.name=digits data.clients=10 network.patience=0.1 {cohort} {change}"
    grid = InProcessGrid(shards(1, tmp_path))
    with pytest.raises(SettingsError) as caught:
        serve(grid, {"set": said, "out": str(tmp_path / "out")}, Console(quiet=True))
    assert explained(str(caught.value))


def test_the_page_explains_why_a_node_does_not_take_part(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as lost:
        NodeSettings().hosted(10)
    assert explained(str(lost.value))
    np.savez(tmp_path / "0.npz", x_train=np.zeros((3, 5)), y_train=np.zeros(3, dtype=int))
    with pytest.raises(DataError) as unfit:
        own_federation(tmp_path, np.array([0]), placeholder_federation("own", 1, (8, 8), 10))
    assert explained(str(unfit.value))
