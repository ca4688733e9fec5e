"""``flexcfl federate`` with Flower's own processes: equal to the simulator, and through faults."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flower_faults import (
    Moment,
    Trouble,
    join,
    kill_client_app,
    kill_node,
    kill_superlink,
    misbehaving,
    processes,
    silent,
    table,
    turned_away,
)
from safetensors.numpy import load_file

import flexcfl
from flexcfl.flower.local import FederationPlan, LocalFederation

pytest.importorskip("flwr")

pytestmark = [pytest.mark.slow, pytest.mark.processes]

LIMIT = 600.0  # seconds for what takes a quarter of it, where nothing else is going on


def mentioning(text: str) -> list[str]:
    return [words for _, words in processes().values() if text in words]


# ---- equal to the simulator, with Ctrl-C and resume in between

EXPERIMENT = {
    "dataset": "digits",
    "rounds": 3,
    "cohort": 2,  # so that two nodes at most have to import PyTorch at once
    "epochs": 1,
    "seed": 14,  # with which clients drift, and migrate, in the last round alone
    "shift": "swap-all",
    "groups": 3,
}
FURTHER = {
    "data.clients": 40,
    "shift.probability": 0.5,
    "algorithm.alpha": 14,  # so that all found the groups, and nobody is placed later
    "run.evaluate_every": 3,
    "run.evaluate_clients": 2,
}


def words() -> list[str]:
    given = [part for name, value in EXPERIMENT.items() for part in (f"--{name}", str(value))]
    return given + [part for key, value in FURTHER.items() for part in ("--set", f"{key}={value}")]


@contextmanager
def command(*arguments: str, cwd: Path, tmp: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run the command such that its processes can be told from those of others."""
    environment = {**os.environ, "TMPDIR": str(tmp), "COLUMNS": "200"}
    with subprocess.Popen(
        [sys.executable, "-m", "flexcfl", *arguments],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            running.terminate()  # takes down what it has started, if a test fails


def until(there: Callable[[], bool], running: "subprocess.Popen[str]") -> None:
    end = time.monotonic() + LIMIT
    while not there():
        assert time.monotonic() < end
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)


def test_a_federation_equals_the_simulator_through_ctrl_c(tmp_path: Path, tmp: Path) -> None:
    run = tmp_path / "run"
    asked = ["federate", "--nodes", "3", "--tls", "--out", "run", *words()]
    with command(*asked, cwd=tmp_path, tmp=tmp) as running:
        until(lambda: (run / "checkpoints" / "round-1.json").exists(), running)
        assert mentioning(str(tmp))
        running.send_signal(signal.SIGINT)
        output, error = running.communicate(timeout=LIMIT)
        assert running.returncode == 130
    assert error == "Interrupted.\n"
    assert output.endswith("The rounds so far are in 'run'. To go on: flexcfl resume run\n")
    assert not mentioning(str(tmp))
    assert not list(tmp.iterdir())
    with command("resume", "run", cwd=tmp_path, tmp=tmp) as running:
        output, error = running.communicate(timeout=LIMIT)
        assert (running.returncode, error) == (0, "")
    assert re.search(r"^resumed +after round [12] of 3$", output, re.M)
    assert re.search(r"^round 3/3  accuracy \d", output, re.M)
    assert not mentioning(str(tmp))
    assert not list(tmp.iterdir())
    assert {each.name for each in tmp_path.iterdir()} == {"run"}
    check_safe(run / "logs")
    check_equal(run, tmp_path / "simulated")


def check_safe(logs: Path) -> None:
    """Read in what Flower has said that all was encrypted, and all keys known, both times."""
    assert (logs / "register.log").read_text().count("registered successfully") == 6
    for log in logs.iterdir():
        assert "insecure" not in log.read_text()


def check_equal(run: Path, folder: Path) -> None:
    """Compare the folder of a run with that of the same one in the simulator."""
    options: dict[str, Any] = {**EXPERIMENT}
    simulated = flexcfl.run(**options, set=FURTHER, out=folder)
    assert simulated.rounds["migrated"].sum() > 0
    files = {str(each.relative_to(run)) for each in run.rglob("*") if each.is_file()}
    logs = {name for name in files if name.startswith("logs")}
    there = {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}
    assert logs == {
        *("logs/superlink.log", "logs/server.log", "logs/submit.log", "logs/register.log"),
        *(["logs/warm.log"] if sys.platform == "linux" else []),
        *(f"logs/node-{node}.log" for node in range(3)),
    }
    # Whose data changed, and which labels they have, only the nodes know.
    assert files - logs == there - {"shifts.csv", "labels.csv"} | {"messages.csv"}
    for name in ("membership.csv", "clients.csv", "founders.csv", "ledger.csv"):
        assert (run / name).read_bytes() == (folder / name).read_bytes()
    mine, theirs = table(run / "rounds.csv"), table(folder / "rounds.csv")
    for ours, others in zip(mine, theirs, strict=True):
        assert {**ours, "shifted": ""} == {**others, "shifted": ""}
    for file in (folder / "models").iterdir():
        model, expected = load_file(run / "models" / file.name), load_file(file)
        assert model.keys() == expected.keys()
        for name, values in expected.items():
            np.testing.assert_allclose(model[name], values, atol=1e-5)


# ---- through faults: five nodes of two clients each, of which the last comes later

SETTINGS = (
    "data.name=digits data.clients=10 data.seed=1 algorithm.name=fedavg shift=none "
    "local.epochs=1 run.rounds=3 run.cohort=8 run.cohorts=uniform run.evaluate_every=3 "
    "run.evaluate_clients=1 network.nodes=4 network.time_limit=15"
)


TROUBLE: Mapping[str, Moment] = {
    "node": kill_node,
    "app": kill_client_app,
    "join": partial(join, node=4),
    "superlink": kill_superlink,
}


def test_a_run_goes_on_through_all_kinds_of_faults(tmp_path: Path) -> None:
    behaviour = {0: "pause", 1: "pause", 2: "sleep", 3: "nan"}
    run, app = tmp_path / "run", misbehaving(tmp_path / "app", behaviour)
    parts = {"num-partitions": 5}  # of which one comes later
    plan = FederationPlan(run, {"set": SETTINGS, "out": str(run)}, nodes=4, settings=parts, app=app)
    remarks: list[str] = []
    trouble = Trouble(TROUBLE)
    with LocalFederation(plan, remarks.append) as federation:
        federation.run(trouble)
        started = set(federation.groups)
    assert len(started) >= 7  # the SuperLink, the SuperExec of the server and five nodes
    assert not started & {group for group, _ in processes().values()}
    assert trouble.made.keys() == TROUBLE.keys()
    ended = [remark.partition(" (")[0] for remark in remarks if " has ended (" in remark]
    assert ended == ["The node 0 has ended", "The SuperLink has ended"]
    assert any(" is left out: " in remark for remark in remarks)  # as the ServerApp says itself
    rounds = table(run / "rounds.csv")
    assert [row["round"] for row in rounds] == ["1", "2", "3"]
    # Clients 0 to 5 are those of nodes that were killed or slept, and 6 and 7 those of the one that
    # sent nonsense, if it did so in time: on a busy machine others are late as well.
    absent = silent(run, 1)
    assert absent >= set(range(6))
    assert int(rounds[0]["rejected_not_finite"]) == len({6, 7} - absent)
    check_nobody_twice(run, rounds)
    arrivals = [int(row["arrival"]) for row in table(run / "clients.csv")]
    assert arrivals[:8] == [0] * 8
    assert set(arrivals[8:]) <= {2, 3}


def check_nobody_twice(run: Path, rounds: list[dict[str, str]]) -> None:
    for row in rounds:
        asked, trained = int(row["cohort"]), int(row["trained"])
        quiet = silent(run, int(row["round"]))
        rejected = turned_away(row)
        assert asked == 8
        assert trained == asked - len(quiet) - rejected
