"""What clients remember outlives processes, damage and a server that goes back."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flower_faults import table
from flwr.app import Message
from rich.console import Console

from flexcfl.errors import DiskError, SettingsError
from flexcfl.flower.memory import RUNS
from flexcfl.flower.messages import MalformedError
from flexcfl.flower.server import serve
from flexcfl.protocol import CheckDrift, Local, Migrate, Place, Settle
from flexcfl.record.lock import locked
from tests.flower.inprocess import InProcessGrid, shards
from tests.flower.nodes import OWN, SESSION, asked, columns, heading, lay, owners, points

MINE = np.array([1, 5])
ORIGIN, DIRECTIONS = np.zeros(20, dtype=np.float32), np.eye(2, 20, dtype=np.float32)
PLACE = Place(MINE, ORIGIN, DIRECTIONS, Local(epochs=1))
MIGRATE = Migrate(MINE, Local(epochs=1), 2)
ANOTHER = "b" * 16


def kept(config: dict[str, Any], pattern: str = "*") -> list[Path]:
    return sorted(Path(config["memory"]).glob(f"*/*/{pattern}"))


def drifted(config: dict[str, Any], **changes: Any) -> list[bool]:
    verdicts: list[bool] = columns(CheckDrift(MINE), config, heading(**changes))["drifted"].tolist()
    return verdicts


def test_a_memory_outlives_its_process(config: dict[str, Any], tmp_path: Path) -> None:
    script = (
        "import sys, json, numpy as np; sys.path.insert(0, sys.argv[1])\n"
        "from flexcfl.protocol import Settle\n"
        "from tests.flower.nodes import asked\n"
        "asked(Settle(np.array([1, 5])), json.loads(sys.argv[2]))\n"
    )
    root = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", script, root, json.dumps(config)], check=True)
    assert drifted(config) == [False, False]
    np.savez(tmp_path / "files" / "5.npz", **points((0, 1), 30, seed=5))
    assert drifted(config) == [False, True]


@pytest.mark.parametrize("damage", ["round-2.json", "arrays-2.safetensors"])
def test_of_a_damaged_memory_the_one_before_is_used(config: dict[str, Any], damage: str) -> None:
    asked(Settle(MINE[:1]), config)
    asked(Settle(MINE), config)
    (broken,) = kept(config, damage)
    broken.write_bytes(broken.read_bytes()[:-9] + b"otherwise")
    _, remarks = asked(CheckDrift(MINE[:1]), config)
    assert len(remarks) == 1
    assert "round-2.json' cannot be used" in remarks[0]
    assert "continue with what they knew before, or are placed again" in remarks[0]
    assert drifted(config) == [False, True]
    assert not asked(CheckDrift(MINE), config)[1]


@pytest.mark.parametrize("rubbish", [b"", b"\x00" * 99, b'{"format": "flexcfl checkpoint"}'])
def test_who_has_nothing_left_is_a_newcomer_and_the_node_says_so(
    config: dict[str, Any], rubbish: bytes
) -> None:
    placed = columns(PLACE, config)["group_of"].tolist()
    for path in kept(config):
        path.write_bytes(rubbish)
    _, remarks = asked(MIGRATE, config)
    assert len(remarks) == 1
    assert drifted(config) == [True, True]
    assert columns(MIGRATE, config)["group_of"].tolist() == [-1, -1]
    assert columns(PLACE, config)["group_of"].tolist() == placed
    assert drifted(config) == [False, False]


def test_a_memory_of_another_federation_is_none(config: dict[str, Any]) -> None:
    asked(Settle(MINE), config)
    _, remarks = asked(CheckDrift(MINE), config, heading(OWN.replace("clients = 8", "clients = 9")))
    assert "it is not for 9 clients" in remarks[0]


def test_another_session_goes_back_to_the_rounds_before(config: dict[str, Any]) -> None:
    asked(Settle(MINE[:1]), config, heading(number=3))
    asked(Settle(MINE), config, heading(number=4))
    assert drifted(config, number=4) == [False, False]
    after = {"session": ANOTHER, "lineage": {SESSION: 3}}
    assert drifted(config, number=4, **after) == [False, True]
    assert drifted(config, number=4, **after) == [False, True]  # for good


def test_who_missed_the_round_that_was_held_again_does_not_know_the_first_one(
    config: dict[str, Any],
) -> None:
    asked(Settle(MINE[:1]), config, heading(number=3))
    asked(Settle(MINE), config, heading(number=4))  # after which the server crashed, and is in 5
    lineage = {SESSION: 3}
    assert drifted(config, number=5, session=ANOTHER, lineage=lineage) == [False, True]


def test_an_order_that_comes_after_later_ones_is_refused(config: dict[str, Any]) -> None:
    asked(Settle(MINE), config, heading(number=4))
    with pytest.raises(MalformedError, match="of round 3, and this node is already in round 4"):
        asked(CheckDrift(MINE), config, heading(number=3))


def test_one_order_at_a_time(config: dict[str, Any]) -> None:
    asked(Settle(MINE), config)
    (folder,) = Path(config["memory"]).glob("*/*")
    with locked(folder), pytest.raises(SettingsError, match="Another process is using"):
        asked(CheckDrift(MINE), config)
    assert drifted(config) == [False, False]


def test_a_run_that_begins_anew_knows_nothing(config: dict[str, Any]) -> None:
    asked(Settle(MINE), config, heading(number=0))
    assert drifted(config, number=0, session=ANOTHER) == [True, True]


def test_two_nodes_of_a_machine_share_a_folder_without_harm(config: dict[str, Any]) -> None:
    other = {**config, "clients": "2-3"}
    asked(Settle(MINE), config)
    assert columns(CheckDrift(np.array([2])), other)["drifted"].tolist() == [True]
    asked(Settle(np.array([2, 3])), other)
    assert drifted(config) == [False, False]
    assert len(list(Path(config["memory"]).glob("*/*"))) == 2
    assert drifted(config, run="f" * 16) == [True, True]  # of another run nothing is known


def test_the_memory_of_old_runs_is_forgotten(config: dict[str, Any]) -> None:
    root = Path(config["memory"])
    (root / "mine").mkdir(parents=True)
    for number in range(RUNS + 3):
        asked(Settle(MINE), config, heading(run=f"{number:016x}"))
        asked(Settle(MINE), config, heading(run=f"{0:016x}"))  # which is still in use
    names = sorted(path.name for path in root.iterdir())
    assert len(names) == RUNS + 1
    assert names[0] == f"{0:016x}"
    assert names[1] == f"{4:016x}"
    assert names[-1] == "mine"


def test_a_folder_that_cannot_be_written_is_told_at_once(
    config: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file")
    unable = {**config, "memory": str(tmp_path / "taken" / "memory")}
    for order in (None, Settle(MINE)):
        with pytest.raises(
            DiskError, match=r"cannot be written .*: make room or fix its permissions"
        ):
            asked(order, unable)


class CrashError(Exception):
    """What takes the server down."""


@dataclass(eq=False)
class Crashing(InProcessGrid):
    """A grid that takes so many lists of messages, has the next one answered, and crashes."""

    left: int = 10**9

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        sent = super().push_messages(messages)
        self.left -= 1
        if self.left < 0:
            raise CrashError
        return sent


SWAPS = (
    "data.name=digits data.clients=12 run.rounds=5 run.cohort=6 network.nodes=2 local.epochs=1 "
    "shift.name=swap-all shift.probability=0.4 algorithm.groups=2 run.evaluate_every=5 "
)


@pytest.mark.parametrize(
    "algorithm",
    ["flexcfl algorithm.alpha=3", pytest.param("fesem-mig", marks=pytest.mark.slow)],
)
def test_clients_go_back_with_a_server_that_crashed(tmp_path: Path, algorithm: str) -> None:
    told = {"set": f"{SWAPS} algorithm.name={algorithm}"}
    quiet = Console(quiet=True)
    grid = InProcessGrid(shards(2, tmp_path / "a"))
    whole = serve(grid, {**told, "out": str(tmp_path / "whole")}, quiet)
    assert whole.folder is not None
    assert sum(map(int, column(whole.folder, "detected"))) > 2
    crashing, out = Crashing(shards(2, tmp_path / "b")), {"out": str(tmp_path / "run")}
    for crash, left in enumerate((9, 3, 4)):
        crashing.left = left
        with pytest.raises(CrashError):
            serve(crashing, {**out, "resume": True} if crash else {**told, **out}, quiet)
    crashing.left = 10**9
    resumed = serve(crashing, {**out, "resume": True}, quiet)
    np.testing.assert_array_equal(resumed.models, whole.models)
    np.testing.assert_array_equal(resumed.group_of, whole.group_of)
    assert resumed.folder is not None
    for name in ("membership.csv", "rounds.csv"):
        assert (resumed.folder / name).read_text() == (whole.folder / name).read_text()


def column(folder: Path, name: str) -> list[str]:
    return [row[name] for row in table(folder / "rounds.csv")]


def test_a_folder_that_is_moved_is_remembered_in_its_new_place(tmp_path: Path) -> None:
    files = lay(tmp_path / "files")
    nodes = owners(files, tmp_path / "memory")
    asked(Settle(np.array([0, 4])), nodes[7])
    shutil.copytree(tmp_path / "memory", tmp_path / "moved")
    moved = {**nodes[7], "memory": str(tmp_path / "moved")}
    assert columns(CheckDrift(np.array([0, 4])), moved)["drifted"].tolist() == [False, False]
