"""Whole runs over nodes with files of their own, which change while the run goes on."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flower_faults import table
from flwr.app import Context, Message
from rich.console import Console

from flexcfl.errors import SettingsError
from flexcfl.flower import client
from flexcfl.flower.messages import read_order
from flexcfl.flower.server import serve
from flexcfl.protocol import CheckDrift, Keep, Migrate, Order, Place
from flexcfl.runner import load
from flexcfl.runner.result import Run
from tests.flower.inprocess import Handler, InProcessGrid
from tests.flower.nodes import CLIENTS, OWN, lay, owners, points
from tests.runner.test_loading import check_same

Meanwhile = Callable[[int], None]


def handler(meanwhile: Meanwhile, orders: list[Order[Any]]) -> Handler:
    """Answer as ever, but let something happen when the first order of a round comes."""
    seen: set[int] = set()

    def handle(message: Message, context: Context) -> Message:
        heading, order = read_order(message.content)
        if order is not None:
            orders.append(order)
        if order is not None and heading.round not in seen:
            seen.add(heading.round)
            meanwhile(heading.round)
        return client.app(message, context)

    return handle


def file_run(
    tmp_path: Path, meanwhile: Meanwhile, experiment: str = OWN, **config: Any
) -> tuple[Run, list[Order[Any]]]:
    orders: list[Order[Any]] = []
    nodes = owners(lay(tmp_path / "files"), tmp_path / "memory")
    grid = InProcessGrid(nodes, handler(meanwhile, orders))
    told = {"experiment": experiment, "out": str(tmp_path / "run"), **config}
    return serve(grid, told, Console(quiet=True)), orders


def column(tmp_path: Path, name: str) -> list[str]:
    return [row[name] for row in table(tmp_path / "run" / "rounds.csv")]


def halves(run: Run) -> bool:
    """Whether the groups are those who have the same labels."""
    return len(set(run.group_of[:4])) == len(set(run.group_of[4:])) == len(set(run.group_of)) - 1


def swap(files: Path, one: int, other: int) -> None:
    for source, target in ((one, "middle"), (other, str(one)), ("middle", str(other))):
        (files / f"{source}.npz").rename(files / f"{target}.npz")


def test_clients_whose_files_are_exchanged_migrate_without_a_download(tmp_path: Path) -> None:
    def meanwhile(number: int) -> None:
        if number == 3:
            swap(tmp_path / "files", 1, 6)

    run, orders = file_run(tmp_path, meanwhile)
    assert column(tmp_path, "detected") == ["0", "0", "2", "0"]
    assert column(tmp_path, "migrated") == ["0", "0", "2", "0"]
    assert column(tmp_path, "shifted") == [""] * 4  # which nobody but clients can see
    assert run.group_of[1] == run.group_of[4] != run.group_of[6] == run.group_of[0]
    moved = [order for order in orders if isinstance(order, Migrate)]
    assert sorted(client for order in moved for client in order.clients.tolist()) == [1, 6]
    assert all(order.down_bytes == 0 for order in moved)
    assert not [order for order in orders if isinstance(order, Place)]
    assert (run.accuracy.best or 0) > 0.9


def test_files_may_grow_and_only_other_labels_are_a_drift(tmp_path: Path) -> None:
    def meanwhile(number: int) -> None:
        files = tmp_path / "files"
        if number == 2:  # more of the same
            np.savez(files / "0.npz", **points((0, 1), 90, seed=90))
        if number == 3:  # and more of something else
            np.savez(files / "2.npz", **points((2, 3), 200, seed=91))

    run, _ = file_run(tmp_path, meanwhile)
    assert column(tmp_path, "migrated") == ["0", "0", "1", "0"]
    assert run.group_of[2] == run.group_of[7] != run.group_of[0]


def test_without_a_change_nothing_moves_and_groups_are_those_of_the_labels(tmp_path: Path) -> None:
    run, _ = file_run(tmp_path, lambda number: None)
    assert halves(run)
    assert column(tmp_path, "detected") == ["0"] * 4
    assert run.summary["migrations"] == 0


def test_who_lost_its_memory_is_placed_as_a_newcomer(tmp_path: Path) -> None:
    def meanwhile(number: int) -> None:
        if number == 3:
            shutil.rmtree(next((tmp_path / "memory").glob("*/*")))

    run, orders = file_run(tmp_path, meanwhile)
    placed = [order.clients.tolist() for order in orders if isinstance(order, Place)]
    assert placed in ([[0, 1, 4, 5]], [[2, 3, 6, 7]])
    assert halves(run)
    assert column(tmp_path, "migrated") == ["0"] * 4


def test_a_file_that_is_broken_for_a_while_leaves_its_node_out_of_the_round(tmp_path: Path) -> None:
    def meanwhile(number: int) -> None:
        file = tmp_path / "files" / "3.npz"
        if number == 2:
            file.rename(file.with_suffix(".kept"))
            file.write_bytes(b"half of it")
        if number == 3:
            file.with_suffix(".kept").rename(file)

    run, _ = file_run(tmp_path, meanwhile)
    missing = {(row["round"], row["clients"]) for row in table(tmp_path / "run" / "missing.csv")}
    assert {number for number, _ in missing} == {"2"}
    assert {clients for _, clients in missing} == {"2-3 6-7"}
    assert halves(run)


def test_noise_is_the_nodes_own_and_not_of_the_seed(tmp_path: Path) -> None:
    brief = {"set": "run.rounds=1 algorithm.name=fedavg"}
    table = '[privacy]\nlevel = "client"\nnoise = 0.5\n'
    fedavg = OWN.replace("groups = 2\nalpha = 4\n", "")
    for experiment, same in ((fedavg, True), (fedavg + table, False)):
        one, other = (
            file_run(tmp_path / f"{same}{each}", lambda number: None, experiment, **brief)[0].models
            for each in range(2)
        )
        assert np.array_equal(one, other) == same


def test_only_who_has_the_keepsake_is_asked_to_migrate_and_all_are_told_to_keep(
    tmp_path: Path,
) -> None:
    _, orders = file_run(tmp_path, lambda number: None)
    kept = [client for order in orders if isinstance(order, Keep) for client in order.clients]
    assert sorted(kept) == list(range(CLIENTS))
    assert any(isinstance(order, CheckDrift) for order in orders)
    assert not any(isinstance(order, Migrate) for order in orders)


def test_a_shift_over_files_of_their_own_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\[shift\] is simulated"):
        file_run(tmp_path, lambda number: None, set="shift.name=swap-all")


def test_a_newcomer_finds_its_group_when_all_nodes_are_gone(tmp_path: Path) -> None:
    run, _ = file_run(tmp_path, lambda number: None)
    again = load(tmp_path / "run")
    check_same(again, run)
    for number in (1, 6):
        with np.load(tmp_path / "files" / f"{number}.npz") as own:
            placement = again.place(own["x_train"], own["y_train"])
        assert placement.group == run.group_of[number] == placement.best
    assert {path.name for path in again.export().iterdir()} >= {"README.md", "config.json"}
