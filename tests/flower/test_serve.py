"""Whole runs in which nodes vanish, come back and join, and in which the server crashes."""

import io
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

import flexcfl
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.protocol import numbers
from flexcfl.runner.result import Run
from tests.flower.inprocess import (
    SWAPS,
    Clock,
    InProcessGrid,
    Nodes,
    resumed,
    served,
    shards,
    simulated,
)
from tests.flower.test_equality import check_same

FLEXCFL: Mapping[str, object] = {
    **SWAPS,
    "algorithm.name": "flexcfl",
    "algorithm.groups": 2,
    "algorithm.alpha": 3,
    "data.clients": 12,
    "run.cohort": 6,
}
FEDAVG: Mapping[str, object] = {
    "algorithm.name": "fedavg",
    "data.clients": 12,
    "run.cohort": 12,
    "run.rounds": 4,
}


@dataclass(eq=False)
class Eventful(InProcessGrid):
    """A grid on which something happens before the orders of a round: ``events`` by round."""

    events: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    further: Nodes = field(default_factory=dict)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Let happen what is due, in the middle of the round."""
        messages = list(messages)
        for what, node in self.events.pop(int(messages[0].metadata.group_id), []):
            if what == "vanish":
                self.down.add(node)
            elif what == "come":
                self.nodes[node] = self.further[node]
            else:
                self.silent.symmetric_difference_update({node})
        return super().push_messages(messages)


def watched(
    grid: InProcessGrid, settings: Mapping[str, object], out: Path
) -> tuple[Run, list[str]]:
    """Return a run and what was remarked in it."""
    with redirect_stderr(io.StringIO()) as text:
        run = served(grid, settings, out, nodes=len(grid.nodes))
    marks = ("left out", "cannot take part")
    lines = text.getvalue().splitlines()
    return run, [line for line in lines if any(mark in line for mark in marks)]


def missing(run: Run, order: str = "train") -> dict[int, list[int]]:
    rows = np.flatnonzero(run.missing["order"] == order)
    return {
        int(run.missing["round"][row]): numbers(run.missing["clients"][row]).tolist()
        for row in rows
    }


def test_a_node_that_vanishes_is_missing_from_then_on(tmp_path: Path) -> None:
    grid = Eventful(shards(3, tmp_path / "memory"), events={2: [("vanish", 101)]})
    run, _ = watched(grid, {**FEDAVG, "network.time_limit": 0.3}, tmp_path / "run")
    assert missing(run) == {2: [4, 5, 6, 7], 3: [4, 5, 6, 7], 4: [4, 5, 6, 7]}
    assert run.rounds["trained"].tolist() == [12, 8, 8, 8]
    assert run.rounds["cohort"].tolist() == [12] * 4


def test_rounds_wait_while_no_node_is_there(tmp_path: Path, clock: Clock) -> None:
    grid = Eventful(shards(2, tmp_path / "memory"), events={2: [("vanish", 100), ("vanish", 101)]})
    clock.alarm = lambda now: grid.down.clear() if now > 100 else None
    settings = {**FEDAVG, "network.time_limit": 1, "network.patience": 300}
    run, _ = watched(grid, settings, tmp_path / "run")
    assert run.rounds["trained"].tolist() == [12, 0, 12, 12]
    assert 100 < clock.now < 110


def test_a_run_whose_nodes_do_not_come_back_ends_and_can_go_on(
    tmp_path: Path, clock: Clock
) -> None:
    grid = Eventful(shards(2, tmp_path / "memory"), events={2: [("vanish", 100), ("vanish", 101)]})
    settings = {**FEDAVG, "network.time_limit": 1, "network.patience": 60}
    with pytest.raises(TrainingError, match="no node for 60 s before round 3: start them again"):
        watched(grid, settings, tmp_path / "run")
    with pytest.raises(SettingsError, match="clients of this run are on nodes"):
        flexcfl.resume(tmp_path / "run")
    grid.down.clear()
    run = resumed(grid, tmp_path / "run")
    assert run.rounds["trained"][[0, 2, 3]].tolist() == [12] * 3


def test_clients_that_never_came_are_not_counted(tmp_path: Path) -> None:
    nodes = shards(3, tmp_path / "memory")
    del nodes[102]
    run, _ = watched(InProcessGrid(nodes), {**FEDAVG, "run.cohort": 6}, tmp_path / "run")
    assert run.summary["clients"] == 8
    lines = (tmp_path / "run" / "clients.csv").read_text().splitlines()
    assert lines[1] == "0,0,0,,"
    assert lines[-1] == "11,0,,,"  # there is one model for all, also for who has not come


def test_a_silent_node_is_waited_for_once_a_round(tmp_path: Path, clock: Clock) -> None:
    events = {2: [("silence", 101)], 4: [("silence", 101)]}
    grid = Eventful(shards(3, tmp_path / "memory"), events=events, clock=clock)
    run, remarks = watched(grid, {**FEDAVG, "network.time_limit": 50}, tmp_path / "run")
    assert run.rounds["rejected_late"].tolist() == [0, 4, 4, 0]
    assert missing(run) == {2: [4, 5, 6, 7], 3: [4, 5, 6, 7]}
    assert missing(run, "evaluate") == {2: [4, 5, 6, 7], 3: [4, 5, 6, 7]}
    assert 100 <= clock.now < 102
    why = "train: node 101 (clients 4-7) is left out: it did not answer within 50 s"
    assert remarks == [f"Round 2, {why}", f"Round 3, {why}"]


def test_who_is_too_slow_is_late_and_counts_once(tmp_path: Path, clock: Clock) -> None:
    """Its answers come when nobody waits for them any more, and are taken for no others."""
    delays = {1: 3.0, 2: 70.0, 3: 3.0, 4: 3.0}

    class Slow(Eventful):
        def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
            messages = list(messages)
            self.delays = {101: delays.get(int(messages[0].metadata.group_id), 0.0)}
            return super().push_messages(messages)

    grid = Slow(shards(3, tmp_path / "memory"), clock=clock)
    run, _ = watched(grid, {**FEDAVG, "network.time_limit": 50}, tmp_path / "run")
    assert run.rounds["trained"].tolist() == [12, 8, 12, 12]
    assert run.rounds["rejected_late"].tolist() == [0, 4, 0, 0]


def test_a_node_that_is_started_again_has_another_id(tmp_path: Path) -> None:
    """Its clients know what they were sent to keep, so the run is the one without all that."""
    nodes = shards(3, tmp_path / "memory")
    events = {2: [("come", 200)], 3: [("vanish", 101)]}
    grid = Eventful(nodes, events=events, further={200: nodes[101]})
    run, _ = watched(grid, FLEXCFL, tmp_path / "run")
    check_same(run, simulated(FLEXCFL))
    asked = {message.metadata.dst_node_id for message in grid.heard}
    assert asked >= {100, 101, 102, 200}
    assert not len(run.missing["round"])


def test_a_node_that_joins_in_round_three_is_placed_by_cold_start(tmp_path: Path) -> None:
    nodes = shards(3, tmp_path / "memory")
    late = {102: nodes.pop(102)}
    grid = Eventful(nodes, events={2: [("come", 102)]}, further=late)
    settings = {**FLEXCFL, "run.rounds": 8, "run.cohorts": "round-robin-then-uniform"}
    run, _ = watched(grid, settings, tmp_path / "run")
    first: dict[int, int] = {}
    for number, client in zip(
        run.membership["round"].tolist(), run.membership["client"].tolist(), strict=True
    ):
        first.setdefault(client, number)
    assert first.keys() == set(range(12))
    assert all((number >= 3) == (client >= 8) for client, number in first.items())
    assert run.summary["newcomers"] is not None
    placed = [each for each in grid.sent("train.place") if each.metadata.dst_node_id == 102]
    assert placed
    assert all(int(each.metadata.group_id) >= 3 for each in placed)


def test_a_node_that_claims_the_clients_of_another_has_them(tmp_path: Path) -> None:
    """Until it goes: then they are where they were."""
    nodes = shards(3, tmp_path / "memory")
    events = {1: [("come", 300)], 3: [("vanish", 300)]}
    claims: Nodes = {300: {"clients": "0-5", "memory": str(tmp_path / "other")}}
    grid = Eventful(nodes, events=events, further=claims)
    run, _ = watched(grid, {**FEDAVG, "network.time_limit": 0.3}, tmp_path / "run")
    assert missing(run) == {3: [0, 1, 2, 3, 4, 5]}
    assert run.rounds["trained"].tolist() == [12, 12, 6, 12]


def test_a_node_with_other_data_cannot_take_part(tmp_path: Path) -> None:
    nodes = shards(3, tmp_path / "memory")
    events = {1: [("come", 300), ("come", 301)]}
    further: Nodes = {300: {"clients": "0-99"}, 301: {}}
    grid = Eventful(nodes, events=events, further=further)
    run, remarks = watched(grid, FEDAVG, tmp_path / "run")
    assert run.rounds["trained"].tolist() == [12] * 4
    assert len(remarks) == 2
    assert remarks[0].startswith("Node 300 cannot take part: ")
    assert "there is no client 99" in remarks[0]
    assert remarks[1].startswith("Node 301 cannot take part: This node does not know which")


def test_more_nodes_than_were_waited_for_take_part(tmp_path: Path) -> None:
    grid = InProcessGrid(shards(4, tmp_path / "memory"), listening=False)
    run = served(grid, FEDAVG, tmp_path / "run", nodes=2)
    check_same(run, simulated(FEDAVG))


def test_too_few_nodes_end_in_a_sentence(tmp_path: Path, clock: Clock) -> None:
    nodes = shards(3, tmp_path / "memory")
    nodes[102] = {"clients": "90"}
    grid = InProcessGrid(nodes, clock=clock)
    with pytest.raises(SettingsError, match=r"After 60 s 2 of 3 nodes .*no client 90.*patience"):
        served(grid, {**FEDAVG, "network.patience": 60}, tmp_path / "run", nodes=3)
    assert not (tmp_path / "run").exists()
    assert 60 <= clock.now < 61


def test_a_cohort_larger_than_what_nodes_offer_is_a_sentence(tmp_path: Path) -> None:
    nodes = shards(3, tmp_path / "memory")
    del nodes[100]
    with pytest.raises(SettingsError, match="A cohort of 12 is larger than the 8 clients that the"):
        served(InProcessGrid(nodes), FEDAVG, tmp_path / "run", nodes=2)


class PowerCutError(Exception):
    """The server is gone, in the middle of whatever it did."""


@dataclass(eq=False)
class Cut(InProcessGrid):
    """A grid of which so many pushes go well; ``after`` says whether the last one still does."""

    left: int = 10**9
    after: bool = True

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Lose power, before nodes hear of an order or after that."""
        self.left -= 1
        if self.left <= 0 and not self.after:
            raise PowerCutError
        sent = super().push_messages(messages)
        if self.left <= 0:
            raise PowerCutError
        return sent


def check_survives(
    grid: Cut, settings: Mapping[str, object], folder: Path, pushes: list[int], expected: Run
) -> None:
    """Demand that a run whose server crashes after so many pushes each time is the one without."""
    run = None
    for left in (*pushes, 10**9):
        grid.left = left
        with suppress(PowerCutError):
            run = gone_on(grid, settings, folder / "run")
            break
    assert run is not None
    check_same(run, expected)
    assert (np.diff(run.messages["round"]) >= 0).all()
    assert not len(run.missing["round"])


def gone_on(grid: Cut, settings: Mapping[str, object], out: Path) -> Run:
    return resumed(grid, out) if out.exists() else served(grid, settings, out, nodes=2)


IFCA: Mapping[str, object] = {
    **SWAPS,
    "algorithm.name": "ifca-mig",
    "algorithm.groups": 2,
    "data.clients": 12,
    "run.cohort": 6,
}


@pytest.mark.parametrize(
    ("settings", "after"),
    [
        pytest.param(FLEXCFL, False, id="flexcfl-before", marks=pytest.mark.slow),
        pytest.param(FLEXCFL, True, id="flexcfl-after"),
        pytest.param(IFCA, False, id="ifca-mig-before"),
        pytest.param(IFCA, True, id="ifca-mig-after", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_crashes_again_and_again(
    settings: Mapping[str, object], after: bool, tmp_path: Path
) -> None:
    """One push later each time, so that some crash is at every order of a round."""
    grid = Cut(shards(2, tmp_path / "memory"), listening=False, after=after)
    check_survives(grid, settings, tmp_path, list(range(3, 12)), simulated(settings))


@pytest.mark.slow
@pytest.mark.parametrize("settings", [FLEXCFL, IFCA], ids=["flexcfl", "ifca-mig"])
def test_a_server_that_crashes_once_anywhere(
    settings: Mapping[str, object], tmp_path: Path
) -> None:
    whole = Cut(shards(2, tmp_path / "memory"), listening=False)
    served(whole, settings, tmp_path / "whole", nodes=2)
    pushes, expected = 10**9 - whole.left, simulated(settings)
    for left in range(1, pushes):
        folder = tmp_path / str(left)
        grid = Cut(shards(2, folder / "memory"), listening=False)
        check_survives(grid, settings, folder, [left], expected)


def test_answers_from_before_a_crash_are_not_taken_for_answers_now(
    tmp_path: Path, clock: Clock
) -> None:
    """They come when the new server asks the same again, and it gets those that it asked for."""
    grid = Cut(shards(2, tmp_path / "memory"), clock=clock)
    grid.left = 9
    with pytest.raises(PowerCutError):
        served(grid, FLEXCFL, tmp_path / "run", nodes=2)
    waiting = len(grid.waiting)
    assert waiting
    grid.left = 10**9
    run = resumed(grid, tmp_path / "run")
    check_same(run, simulated(FLEXCFL))
    assert len(grid.waiting) == waiting  # nobody has fetched them


def test_the_tables_of_a_run_are_in_its_folder_and_nothing_that_only_the_nodes_know(
    tmp_path: Path,
) -> None:
    grid = InProcessGrid(shards(2, tmp_path / "memory"), listening=False)
    run = served(grid, {**FLEXCFL, **SWAPS}, tmp_path / "run", nodes=2)
    names = {each.name for each in (tmp_path / "run").iterdir()}
    assert names >= {"messages.csv", "rounds.csv", "summary.json"}
    lines = (tmp_path / "run" / "messages.csv").read_text().splitlines()
    assert len(lines) == len(run.messages["round"]) + 1
    assert not names & {"shifts.csv", "labels.csv"}
    assert list(run.shifts) == ["round", "clients"]
    assert list(run.labels) == ["client", "label", "train", "test"]
    assert not any(len(column) for column in (*run.shifts.values(), *run.labels.values()))
