"""Measure the effect of single faults on a federation of real Flower processes.

    python benchmarks/flower_faults.py [NAME ...]

prints a line for each fault, all of them by default, which takes about a minute each. Eight clients
are on four nodes, FedAvg trains six of them in each of four rounds, and the fault comes in the
first or the second one. Nodes have 25 s to answer. ``silent`` are clients that did not, by round,
``refused`` answers that were turned away, ``twice`` the clients that were counted more than once,
``joined`` the last round in which clients came, ``again`` what had to be started again, ``left``
the processes that were still there afterwards. A fault that never came about is marked with an
exclamation mark.
"""

import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flexcfl.flower import APP
from flexcfl.flower.local import FederationPlan, LocalFederation
from flexcfl.flower.local.federation import SUPERLINK
from flexcfl.flower.local.programs import FORK_SERVER
from flexcfl.protocol import numbers
from flexcfl.record.run_folders import CHECKPOINTS
from flexcfl.record.tables import ROUNDS

__all__ = [
    "Moment",
    "Trouble",
    "join",
    "kill_client_app",
    "kill_node",
    "kill_superlink",
    "misbehaving",
    "processes",
    "silent",
    "table",
    "turned_away",
]

SETTINGS = (
    "data.name=digits data.clients=8 data.seed=1 algorithm.name=fedavg shift=none local.epochs=1 "
    "run.rounds=4 run.cohort=6 run.cohorts=uniform run.evaluate_every=4 network.time_limit=25"
)
CLIENT = '''
"""A ClientApp whose nodes misbehave in the first round."""

import time

import numpy as np
from flwr.app import Array
from flwr.clientapp import ClientApp

from flexcfl.flower.client import app as honest

BEHAVIOUR = {behaviour}
PAUSES = {"pause": 4, "sleep": 40}
app = ClientApp()


@app.train()
def train(message, context):
    behaviour = BEHAVIOUR.get(context.node_config["partition-id"])
    if message.metadata.group_id != "1":
        behaviour = None
    time.sleep(PAUSES.get(behaviour, 0))
    reply = honest(message, context)
    if behaviour == "nan":
        arrays = reply.content["arrays"]
        updates = np.full_like(arrays["updates"].numpy(), np.nan)
        arrays["updates"] = Array.from_numpy_ndarray(updates)
    return reply


app.evaluate()(honest)
app.query("hello")(honest)
'''

Moment = Callable[[LocalFederation], int | None]


def misbehaving(folder: Path, behaviour: Mapping[int, str]) -> Path:
    """Make an app of ours with nodes that misbehave in the first round.

    They ``pause``, so that there is time to kill them, ``sleep`` past the limit or send ``nan``.
    """
    folder.mkdir()
    settings = (APP / "pyproject.toml").read_text()
    ours = "flexcfl.flower.client:app"
    assert ours in settings
    (folder / "pyproject.toml").write_text(settings.replace(ours, "misbehaving:app"))
    client = CLIENT.replace("{behaviour}", repr(dict(behaviour)))
    (folder / "misbehaving.py").write_text(client)
    return folder


def processes() -> dict[int, tuple[int, str]]:
    """Return the process group and the command line of each running process."""
    words = ["ps", "-ww", "-eo", "pid=,pgid=,stat=,args="]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    parts = [line.split(None, 3) for line in lines]
    return {int(each[0]): (int(each[1]), each[3]) for each in parts if not each[2].startswith("Z")}


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table of a run."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def done(run: Path) -> int:
    """Return the number of rounds in the file."""
    return len(table(run / ROUNDS))


def silent(run: Path, number: int) -> set[int]:
    """Return the clients that did not answer an order to train in a round."""
    rows = [row for row in table(run / "missing.csv") if row["order"] == "train"]
    lines = [row["clients"] for row in rows if int(row["round"]) == number]
    return {client for line in lines for client in numbers(line).tolist()}


def turned_away(row: Mapping[str, str]) -> int:
    """Return the number of rejected answers of a round, without those that were too late."""
    reasons = [name for name in row if name.startswith("rejected_") and name != "rejected_late"]
    return sum(int(row[name]) for name in reasons)


def at_work(federation: LocalFederation, node: int) -> int | None:
    """Return the process in which a node trains in the first round, or None before and after."""
    run = federation.plan.folder
    if node not in federation.nodes or not (run / CHECKPOINTS).exists() or done(run):
        return None
    told = {pid: words for pid, (_, words) in processes().items()}
    port = re.search(r" --port (\d+) ", told.get(federation.nodes[node].pid, ""))
    if port is None:
        return None
    apps = {pid: words for pid, words in told.items() if "flwr-clientapp" in words}
    return next((pid for pid, words in apps.items() if f":{port[1]} " in words), None)


def killed(pid: int) -> int:
    """Kill a process with SIGKILL, and return its id."""
    os.kill(pid, signal.SIGKILL)
    return pid


@dataclass(eq=False)
class Trouble:
    """Causes each fault once: ``moments`` return None until their time has come."""

    moments: Mapping[str, Moment]
    made: dict[str, int] = field(default_factory=dict)

    def __call__(self, federation: LocalFederation) -> None:
        """Cause the faults whose time has come."""
        for name, moment in self.moments.items():
            if name not in self.made and (made := moment(federation)):
                self.made[name] = made


def kill_node(federation: LocalFederation) -> int | None:
    """Kill the SuperNode 0 while it trains."""
    return killed(federation.nodes[0].pid) if at_work(federation, 0) else None


def kill_client_app(federation: LocalFederation) -> int | None:
    """Kill the process in which node 1 trains."""
    victim = at_work(federation, 1)
    return killed(victim) if victim else None


def kill_superlink(federation: LocalFederation) -> int | None:
    """Kill the SuperLink during the second round."""
    return _kill_service(federation, SUPERLINK)


def kill_warm(federation: LocalFederation) -> int | None:
    """Kill the process that forks all others except the SuperLink, during the second round."""
    return _kill_service(federation, FORK_SERVER)


def _kill_service(federation: LocalFederation, name: str) -> int | None:
    return killed(federation.services[name].pid) if done(federation.plan.folder) == 1 else None


def kill_server(federation: LocalFederation) -> int | None:
    """Kill the ServerApp during the second round."""
    there = federation.server if done(federation.plan.folder) == 1 else None
    return killed(there) if there else None


def join(federation: LocalFederation, node: int = 3) -> int | None:
    """Start a further node in the first round; the second finds it, and in the third it trains."""
    if not (federation.plan.folder / CHECKPOINTS).exists():
        return None
    federation.start_node(node)
    return federation.nodes[node].pid


@dataclass(frozen=True)
class Fault:
    """One fault: an action at some moment, or the misbehaviour of some nodes."""

    moment: Moment | None = None
    behaviour: Mapping[int, str] = field(default_factory=dict)
    nodes: int = 4


FAULTS: Mapping[str, Fault] = {
    "none": Fault(),
    "SuperNode killed": Fault(kill_node, {0: "pause"}),
    "ClientApp killed": Fault(kill_client_app, {1: "pause"}),
    "SuperLink killed": Fault(kill_superlink),
    "ServerApp killed": Fault(kill_server),
    **({"process behind all programs killed": Fault(kill_warm)} if FederationPlan.forked else {}),
    "node sleeps past the limit": Fault(behaviour={2: "sleep"}),
    "node sends NaN": Fault(behaviour={2: "nan"}),
    "node joins later": Fault(join, nodes=3),
}


def tried(fault: Fault, folder: Path) -> list[str]:
    """Do a run with a fault, and return its line of the table."""
    run, again = folder / "run", list[str]()
    app = misbehaving(folder / "app", fault.behaviour)
    config = {"set": f"{SETTINGS} network.nodes={fault.nodes}", "out": str(run)}
    plan = FederationPlan(run, config, fault.nodes, settings={"num-partitions": 4}, app=app)
    trouble = Trouble({} if fault.moment is None else {"fault": fault.moment})
    start = time.monotonic()
    with LocalFederation(plan, again.append) as federation:
        federation.run(trouble)
        groups = set(federation.groups)
    seconds = time.monotonic() - start
    left = sum(group in groups for group, _ in processes().values())
    happened = fault.moment is None or bool(trouble.made)
    return [*_figures(run), _restarted(again), str(left), f"{seconds:.0f}", "" if happened else "!"]


def _figures(run: Path) -> list[str]:
    rows = table(run / ROUNDS)
    asked = [int(row["cohort"]) for row in rows]
    trained = [int(row["trained"]) for row in rows]
    quiet = {number: silent(run, number) for number in range(1, len(rows) + 1)}
    refused = sum(map(turned_away, rows))
    told = "; ".join(f"{number}: {sorted(who)}" for number, who in quiet.items() if who)
    twice = sum(trained) - (sum(asked) - sum(map(len, quiet.values())) - refused)
    last = max(int(row["arrival"]) for row in table(run / "clients.csv"))
    turnout = f"{len(rows)}/4", "+".join(map(str, trained)), told or "-", str(refused)
    return [*turnout, str(twice), str(last)]


def _restarted(remarks: Sequence[str]) -> str:
    ended = [each for each in remarks if " has ended (" in each]
    names = [each.removeprefix("The ").partition(" has ended")[0] for each in ended]
    return ", ".join(names) or "-"


def main(names: Sequence[str]) -> None:
    """Print the table."""
    head = [
        "rounds",
        "trained",
        "silent",
        "refused",
        "twice",
        "joined",
        "again",
        "left",
        "seconds",
        "",
    ]
    print("| fault | " + " | ".join(head[:-1]) + " |")
    print("|---" * len(head) + "|")
    for name in names or FAULTS:
        with tempfile.TemporaryDirectory(prefix="flexcfl-faults-") as folder:
            line = tried(FAULTS[name], Path(folder))
        print(f"| {name}{line[-1]} | " + " | ".join(line[:-1]) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
