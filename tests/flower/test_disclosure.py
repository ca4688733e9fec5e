"""Every message of a run is read: what is in it, what is not, and what it takes."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Message, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects
from flwr.supercore.inflatable.inflatable_utils import push_objects
from numpy.typing import NDArray
from rich.console import Console

from flexcfl.algorithms import ALGORITHMS
from flexcfl.flower.messages import ABOUT, ARRAYS
from flexcfl.flower.server import serve
from flexcfl.protocol import Settle
from flexcfl.runner.hosting import simulation
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.runner.result import Run
from tests.flower.inprocess import SWAPS, InProcessGrid, served, shards, slow_but
from tests.flower.nodes import CLASSES, CLIENTS, OWN, SHAPE, lay, owners

COUNT, REAL, FLAG = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.bool_)
PARAMETERS = "parameters"
Columns = Mapping[str, np.dtype[Any] | str]

# All that may leave a node: one number of a kind for each client, and updates of models.
PLACED: Columns = {"clients": COUNT, "group_of": COUNT}
UP: Mapping[str, Columns] = {
    "query.hello": {"clients": COUNT},
    "train": {
        "clients": COUNT,
        "examples": COUNT,
        "model_of": COUNT,
        "loss": REAL,
        "updates": PARAMETERS,
    },
    "train.place": PLACED,
    "train.migrate": PLACED,
    "train.keep": {"clients": COUNT},
    "query.settle": {"clients": COUNT},
    "query.choose": {"clients": COUNT, "model_of": COUNT},
    "query.drift": {"clients": COUNT, "drifted": FLAG},
    "evaluate": {"clients": COUNT, "loss": REAL, "hits": COUNT, "examples": COUNT},
}
ORDERS = {
    "train": "train",
    "train.place": "place",
    "train.migrate": "migrate",
    "train.keep": "keep",
    "query.settle": "settle",
    "query.choose": "choose",
    "query.drift": "check-drift",
    "evaluate": "evaluate",
}


def arrays_of(content: RecordDict) -> dict[str, NDArray[Any]]:
    return {name: each.numpy() for name, each in content.array_records[ARRAYS].items()}


def about(content: RecordDict) -> Any:
    return json.loads(str(content.config_records[ABOUT]["about"]))


def handed_over(message: Message) -> bytes:
    """Return all that Flower pushes of a message, by its own way of doing so."""
    pushed: dict[str, bytes] = {}
    push_objects(get_all_nested_objects(message), pushed.__setitem__)
    return b"".join(pushed.values())


def replies(grid: InProcessGrid) -> list[Message]:
    return [message for message in grid.heard if message.metadata.reply_to_message_id]


def run_and_grid(
    name: str, folder: Path, more: Mapping[str, object], *, nodes: int = 2
) -> tuple[Run, InProcessGrid]:
    grid = InProcessGrid(shards(nodes, folder / "memory"))
    settings = {"algorithm.name": name, **more}
    return served(grid, settings, folder / "run", nodes=nodes), grid


@pytest.fixture(scope="module")
def swapped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, InProcessGrid]:
    """Return a run in which clients migrate, of which every message is there."""
    return run_and_grid("flexcfl", tmp_path_factory.mktemp("swapped"), SWAPS)


def secrets(run: Run) -> set[bytes]:
    """Return what must not leave a node, as it would look in a message: of all clients and rounds.

    That is every example, and the labels, the histogram and the drift reference of every client.
    """
    prepared = prepare(run.experiment)
    federation, rounds = prepared.federation, range(run.experiment.run.rounds + 1)
    found = {row.tobytes() for row in federation.x}
    for number in rounds:
        view = prepared.timeline.at(number)
        for client in range(federation.clients):
            for rows in (view.train[client], view.test[client]):
                found |= told_by(federation.y[rows], federation.classes)
    return found | {row.tobytes() for row in references(prepared, rounds)}


def told_by(labels: NDArray[np.int64], classes: int) -> set[bytes]:
    """Return what tells which labels a client has: themselves, their counts and their shares."""
    counts = np.bincount(labels, minlength=classes)
    return {*_ways(labels), *_ways(counts), *_ways(counts / counts.sum())}


def references(prepared: Prepared, rounds: range) -> Iterator[NDArray[Any]]:
    """Yield what every client would remember of its data if it were placed in any round."""
    world = simulation(prepared, 0)
    for number in rounds if world.watch is not None else ():
        world.at(number)(Settle(np.arange(prepared.federation.clients)))
        memory = world.memory().watch
        assert memory is not None
        yield from memory.kept


def _ways(values: NDArray[Any]) -> Iterator[bytes]:
    kinds = (np.int64, np.int32) if values.dtype == np.int64 else ()
    for dtype in (*kinds, np.float64, np.float32):
        yield values.astype(dtype).tobytes()
    yield json.dumps(values.tolist()).encode()


def found_in(messages: list[Message], patterns: set[bytes]) -> list[bytes]:
    whole = b"".join(handed_over(message) for message in messages)
    return [each for each in patterns if each in whole]


@pytest.mark.parametrize("name", slow_but(("fesem-mig", "flexcfl"), sorted(ALGORITHMS)))
def test_nothing_of_the_data_leaves_a_node(name: str, tmp_path: Path) -> None:
    # With few examples a histogram would look like any other small numbers, such as hits.
    run, grid = run_and_grid(name, tmp_path, {**SWAPS, "data.examples": 80})
    answers = replies(grid)
    for message in answers:
        check_columns(
            message, run.summary["parameters"], {"total": 40, "shape": [4], "classes": 10}
        )
    assert not found_in(answers, secrets(run))
    expected = {"query.hello", "train", "evaluate"}
    expected |= {"query.drift"} if ALGORITHMS[name].migrates else set()
    assert expected <= {message.metadata.message_type for message in answers}


def test_nothing_of_a_clients_own_files_leaves_its_node(tmp_path: Path) -> None:
    files = lay(tmp_path / "files")
    grid = InProcessGrid(owners(files, tmp_path / "memory"))
    config = {"experiment": OWN, "out": str(tmp_path / "run")}
    run = serve(grid, config, Console(quiet=True))
    hello = {"total": CLIENTS, "shape": list(SHAPE), "classes": CLASSES}
    for message in replies(grid):
        check_columns(message, run.summary["parameters"], hello)
    patterns: set[bytes] = set()
    for file in files.iterdir():
        arrays = np.load(file)
        examples = [*arrays["x_train"], *arrays["x_test"]]
        patterns |= {each for row in examples for each in _ways(row)}
        patterns |= told_by(arrays["y_train"], CLASSES)
    assert len(patterns) > 100
    assert not found_in(replies(grid), patterns)


def check_columns(message: Message, parameters: int, hello: Mapping[str, Any]) -> None:
    content, kind = message.content, message.metadata.message_type
    assert set(content) == {ABOUT, ARRAYS}
    columns, plain = arrays_of(content), about(content)
    assert columns.keys() == UP[kind].keys()
    clients = len(columns["clients"])
    for name, expected in UP[kind].items():
        width = (parameters,) if expected == PARAMETERS else ()
        dtype = np.dtype(np.float32) if expected == PARAMETERS else expected
        assert (columns[name].dtype, columns[name].shape) == (dtype, (clients, *width)), name
    if kind == "query.hello":
        assert plain == hello
    else:
        assert plain == {"late": 0, "lists": {}}
    assert list(content.config_records[ABOUT]) == ["about"]


def test_what_would_leave_is_found(swapped: tuple[Run, InProcessGrid]) -> None:
    """The search is of no use if it finds nothing where something is."""
    run, grid = swapped
    prepared, patterns = prepare(run.experiment), secrets(run)
    labels = prepared.federation.y[prepared.timeline.at(2).train[7]]
    counts = np.bincount(labels, minlength=prepared.federation.classes)
    reference = next(references(prepared, range(1)))
    for planted in (prepared.federation.x[11], labels, counts, reference):
        arrays = ArrayRecord(array_dict={"clients": Array.from_numpy_ndarray(planted)})
        content = RecordDict({ARRAYS: arrays})
        assert found_in([Message(content, reply_to=grid.heard[0])], patterns)


def test_who_migrates_is_sent_nothing_but_the_question(
    swapped: tuple[Run, InProcessGrid],
) -> None:
    run, grid = swapped
    asked = grid.sent("train.migrate")
    assert run.summary["migrations"] > 0
    assert asked
    for message in asked:
        assert arrays_of(message.content).keys() == {"clients"}
        plain = about(message.content)
        assert plain.keys() == {"heading", "kind", "local", "groups"}
        names = {"run", "session", "round", "experiment", "updates", "lineage"}
        assert plain["heading"].keys() == names
        # In words, too, there is no room for a model.
        assert len(handed_over(message)) < 4000
    sums = run.messages["wire_down_bytes"][run.messages["order"] == "migrate"].sum()
    assert sums == sum(arrays_of(each.content)["clients"].nbytes for each in asked)


@pytest.mark.parametrize(
    ("name", "updates"),
    [
        ("flexcfl", "float16"),
        pytest.param("ifca", "float32", marks=pytest.mark.slow),
        pytest.param("fesem-mig", "float32", marks=pytest.mark.slow),
    ],
)
def test_the_traffic_is_what_was_handed_over(name: str, updates: str, tmp_path: Path) -> None:
    run, grid = run_and_grid(name, tmp_path, {**SWAPS, "network.updates": updates})
    expected: dict[tuple[int, str], NDArray[np.int64]] = {}
    for message in grid.heard:
        kind = ORDERS.get(message.metadata.message_type)
        if kind is None:
            continue
        arrays = sum(each.nbytes for each in arrays_of(message.content).values())
        up = int(bool(message.metadata.reply_to_message_id))
        row = np.zeros(5, dtype=np.int64)
        row[0], row[1 + up], row[3 + up] = 1 - up, arrays, len(handed_over(message))
        key = int(message.metadata.group_id), kind
        expected[key] = expected.get(key, 0) + row
    names = ("messages", "wire_down_bytes", "wire_up_bytes", "sent_down_bytes", "sent_up_bytes")
    lines = np.stack([run.messages[each] for each in names], axis=1)
    found: dict[tuple[int, str], NDArray[np.int64]] = {}
    for number, kind, line in zip(run.messages["round"], run.messages["order"], lines, strict=True):
        found[int(number), str(kind)] = found.get((int(number), str(kind)), 0) + line
    assert {key: row.tolist() for key, row in found.items()} == {
        key: row.tolist() for key, row in expected.items()
    }
    network: Any = run.summary["network"]
    assert [network[each] for each in names] == lines.sum(axis=0).tolist()
    assert network["framing"] == round(lines[:, 3:].sum() / lines[:, 1:3].sum() - 1, 6)


@pytest.mark.parametrize("nodes", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_framing_is_small_beside_a_large_model(nodes: int, tmp_path: Path) -> None:
    large = {"data.features": 2600, "data.clients": 8, "run.cohort": 4, **SWAPS}
    run, _ = run_and_grid("flexcfl", tmp_path, large, nodes=nodes)
    assert run.summary["parameters"] * 4 > 100_000
    network: Any = run.summary["network"]
    assert 0 < network["framing"] < 0.05


@pytest.mark.parametrize("name", slow_but(("flexcfl", "ifca"), sorted(ALGORITHMS)))
def test_two_messages_to_a_node_are_a_round(name: str, tmp_path: Path) -> None:
    """Besides evaluation, and when everybody is placed and nobody moves."""
    settings = {"run.cohort": 40, "run.evaluate_every": 100}
    run, _ = run_and_grid(name, tmp_path, settings, nodes=2)
    quiet = (run.rounds["placed"] == 40) & (run.rounds["placed_again"] == 0)
    numbers = run.rounds["round"][quiet & (run.rounds["round"] > 1)]
    assert len(numbers)
    for number in numbers:
        mine = (run.messages["round"] == number) & (run.messages["order"] != "evaluate")
        assert 0 < run.messages["messages"][mine].sum() <= 2 * 2
