"""A federation over a network: hosts with addresses of their own, joined by a virtual switch."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flower_faults import table

pytest.importorskip("flwr")

from flexcfl.flower import APP, certificates
from tests.flower.processes import Program, Programs

HOSTS = {"server": "10.83.0.1", "left": "10.83.0.2", "right": "10.83.0.3"}
SWITCH = "switch"
KINDS = ("wire", "sent")
ADDRESS = f"{HOSTS['server']}:8000"
# A model of 104 kB, of which each host has five clients.
RUN = (
    "run.rounds=1 run.cohort=10 data.name=clusters data.clients=10 data.features=2600 "
    "algorithm.name=fedavg network.nodes=2 local.epochs=1 run.evaluate_clients=1"
)
# Bytes of all that Flower sends beside messages: to connect, to ask for some, to be alive.
BESIDE = 500_000


def namespace(host: str) -> str:
    return f"flexcfl-{os.getpid()}-{host}"


def ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip())
    return done.stdout


def connect(host: str, address: str) -> None:
    ends = ["name", "eth0", "netns", namespace(host)], ["name", host, "netns", namespace(SWITCH)]
    ip("link", "add", *ends[0], "type", "veth", "peer", *ends[1])
    ip("-n", namespace(host), "address", "add", f"{address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        ip("-n", namespace(host), "link", "set", device, "up")
    ip("-n", namespace(SWITCH), "link", "set", host, "master", "bridge", "up")


@contextmanager
def network() -> Iterator[None]:
    """Join all hosts by a switch, or skip the test where that is not allowed."""
    if shutil.which("ip") is None:
        pytest.skip("there is no command ip, which makes network namespaces")
    try:
        try:
            for host in (SWITCH, *HOSTS):
                ip("netns", "add", namespace(host))
            ip("-n", namespace(SWITCH), "link", "add", "bridge", "type", "bridge")
            ip("-n", namespace(SWITCH), "link", "set", "bridge", "up")
            for host, address in HOSTS.items():
                connect(host, address)
        except OSError as error:
            pytest.skip(f"no rights for network namespaces: {error}")
        yield
    finally:
        there = ip("netns", "list").split()
        for host in (SWITCH, *HOSTS):
            if namespace(host) in there:
                ip("netns", "delete", namespace(host))


def passed(host: str) -> dict[str, int]:
    """Return how many bytes went through the switch from and to a host."""
    told = ip("-n", namespace(SWITCH), "-s", "-j", "link", "show", host)
    counts = json.loads(told)[0]["stats64"]
    return {"up": counts["rx"]["bytes"], "down": counts["tx"]["bytes"]}


class Federation:
    def __init__(self, programs: Programs, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.files = certificates.make_server_certificate(folder / "keys", [HOSTS["server"]])

    def on(self, host: str, *command: object) -> Program:
        home = self.folder / host
        home.mkdir(exist_ok=True)
        words = ["ip", "netns", "exec", namespace(host), *command]
        name = f"{host} {Path(str(command[0])).name}"
        return self.programs.start(name, words, home, {"FLWR_HOME": home})

    def start(self) -> None:
        ca, own, key = self.files.ca, self.files.certificate, self.files.key
        tls = ["--ssl-ca-certfile", ca, "--ssl-certfile", own, "--ssl-keyfile", key]
        superlink = self.on("server", "flower-superlink", "--host", "0.0.0.0", *tls)
        for number, host in enumerate(("left", "right")):
            known = f'partition-id={number} num-partitions=2 memory="{self.folder / host}"'
            there = ["--superlink", ADDRESS, "--root-certificates", ca]
            self.on(host, "flower-supernode", *there, "--node-config", known)
        (self.folder / "server" / "config.toml").write_text(
            f'[superlink.there]\naddress = "{ADDRESS}"\nroot-certificates = "{ca}"\n'
        )
        superlink.until("Uvicorn running on")

    def run(self, out: Path) -> str:
        config = f'set="{RUN}" out="{out}"'
        flwr = self.on("server", "flwr", "run", APP, "there", "--stream", "--run-config", config)
        assert flwr.ended() == 0, flwr.said
        return flwr.said


@pytest.mark.slow
@pytest.mark.processes
def test_hosts_that_share_nothing_but_a_switch_are_a_federation(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with network():
        with Programs(tmp_path) as programs:
            federation = Federation(programs, tmp_path)
            federation.start()
            said = federation.run(out)
            traffic = [passed("left"), passed("right")]
        assert not ip("netns", "pids", namespace("server"))
    assert (out / "summary.json").exists(), said
    sent = table(out / "messages.csv")
    assert [(row["order"], row["messages"]) for row in sent] == [("train", "2"), ("evaluate", "1")]
    for way in ("up", "down"):
        wire, whole = (sum(int(row[f"{kind}_{way}_bytes"]) for row in sent) for kind in KINDS)
        assert wire < whole < 1.05 * wire
        assert whole < sum(each[way] for each in traffic) < 1.05 * whole + BESIDE
    assert str(os.getpid()) not in ip("netns", "list")
