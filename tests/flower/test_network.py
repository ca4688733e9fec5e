"""Nodes that send rubbish in whole runs: these go on, and say what was refused and who missing."""

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from flwr.app import Array, Context, Error, Message, RecordDict

from flexcfl.errors import TrainingError
from flexcfl.flower import client
from flexcfl.flower.messages import ARRAYS, refusal_record
from flexcfl.protocol import numbers
from flexcfl.runner.result import Run
from tests.flower.inprocess import InProcessGrid, records, served, shards, slow_but

BAD = 101  # the second of three nodes, which hosts clients 4 to 7 of 12
HOSTED = np.arange(4, 8)
ROUNDS = 2
EVERYBODY: Mapping[str, object] = {
    "algorithm.name": "fedavg",
    "data.clients": 12,
    "run.cohort": 12,
    "run.rounds": ROUNDS,
}
Columns: TypeAlias = dict[str, Any]
Spoil: TypeAlias = Callable[[Columns], RecordDict | Error]


def packed(columns: Columns, about: str = '{"late": 0, "lists": {}}') -> RecordDict:
    return records(about, columns)


def altered(**changes: Callable[[Any], Any]) -> Spoil:
    """Return what alters columns of an honest answer."""

    def spoil(columns: Columns) -> RecordDict:
        return packed(columns | {name: change(columns[name]) for name, change in changes.items()})

    return spoil


def without(name: str) -> Spoil:
    return lambda columns: packed({key: each for key, each in columns.items() if key != name})


@dataclass(eq=False)
class Spoiling:
    """Nodes of which the bad one alters its answers of one message type, in some rounds."""

    spoil: Spoil
    kind: str = "train"
    rounds: tuple[int, ...] = (1,)
    asked: list[tuple[int, str]] = field(default_factory=list)

    def __call__(self, message: Message, context: Context) -> Message:
        reply = client.app(message, context)
        number, kind = int(message.metadata.group_id), message.metadata.message_type
        if context.node_id == BAD and not kind.startswith("query.hello"):
            self.asked.append((number, kind))
        if context.node_id != BAD or kind != self.kind or number not in self.rounds:
            return reply
        columns = {name: each.numpy() for name, each in reply.content.array_records[ARRAYS].items()}
        return Message(self.spoil(columns), reply_to=message)


def run_with_bad_node(folder: Path, spoiling: Spoiling, **more: object) -> tuple[Run, str]:
    """Return a run with a bad node, and what was remarked in it."""
    grid = InProcessGrid(shards(3, folder / "memory"), spoiling, listening=False)
    with redirect_stderr(io.StringIO()) as remarks:
        run = served(grid, {**EVERYBODY, **more}, folder / "run", nodes=3)
    return run, remarks.getvalue().removesuffix("\n")


def missing(run: Run, number: int, order: str = "train") -> list[int]:
    rows = (run.missing["round"] == number) & (run.missing["order"] == order)
    return [client for text in run.missing["clients"][rows] for client in numbers(text).tolist()]


def rejected(run: Run) -> dict[str, int]:
    """Return the answers refused in the first round, by reason."""
    columns = {name: run.rounds[name] for name in run.rounds if name.startswith("rejected_")}
    return {name[9:]: int(column[0]) for name, column in columns.items() if column[0]}


REFUSED: Mapping[str, tuple[Spoil, dict[str, int]]] = {
    "NaN": (altered(updates=lambda own: own * np.nan), {"not_finite": 4}),
    "another shape": (altered(updates=lambda own: own[:, 1:]), {"shape": 4}),
    "text": (altered(loss=lambda own: own.astype(str)), {"not_finite": 4}),
    "clients of others": (altered(clients=lambda own: own - 4), {"invalid": 4}),
    "clients that do not exist": (altered(clients=lambda own: own + 10**9), {"invalid": 4}),
    "another model": (altered(model_of=lambda own: own + 1), {"invalid": 4}),
    "huge numbers": (altered(examples=lambda own: own + 2**62), {"invalid": 4}),
    "an answer of last year": (
        lambda columns: packed({**columns, "rounds": np.zeros(4, np.int64)}),
        {"stale": 4},
    ),
    "one client four times": (altered(clients=lambda own: own * 0 + 5), {"invalid": 3}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_answers_that_guards_refuse(case: str, tmp_path: Path) -> None:
    spoil, reasons = REFUSED[case]
    run, remarks = run_with_bad_node(tmp_path, Spoiling(spoil))
    assert rejected(run) == reasons
    assert not remarks
    trained = 12 - sum(reasons.values())
    assert run.rounds["trained"].tolist() == [trained, 12]
    assert run.rounds["cohort"].tolist() == [12, 12]
    # Whose own answer is not there was silent, whatever was said in its place.
    silent = {"clients of others": [4, 5, 6, 7], "clients that do not exist": [4, 5, 6, 7]}
    assert missing(run, 1) == (silent | {"one client four times": [4, 6, 7]}).get(case, [])
    assert missing(run, 2) == []
    assert np.isfinite(run.models[0]).all()


PICKLED = io.BytesIO()
np.save(PICKLED, np.array([{}] * 4, dtype=object))


def objects(columns: Columns) -> RecordDict:
    content = packed(columns)
    bad = Array(dtype="object", shape=(4,), stype="numpy.ndarray", data=PICKLED.getvalue())
    content.array_records[ARRAYS]["loss"] = bad
    return content


LEFT_OUT: Mapping[str, tuple[Spoil, str]] = {
    "a missing column": (without("updates"), "its updates are missing"),
    "nothing at all": (lambda columns: RecordDict(), "not a message of flexcfl"),
    "columns of other lengths": (altered(loss=lambda own: own[1:]), "differ in length"),
    "no dimension": (altered(examples=lambda own: own[0]), "its examples are missing"),
    "objects": (objects, "it cannot be read"),
    "too many answers": (
        lambda columns: packed({name: np.repeat(own, 2, 0) for name, own in columns.items()}),
        "more answers than the 4",
    ),
    "a refusal": (
        lambda columns: refusal_record("This node is on holiday."),
        "This node is on holiday.",
    ),
    "an error": (lambda columns: Error(code=2, reason="It fell over."), "It fell over."),
    "lies": (lambda columns: packed(columns, '{"late": 99999}'), "more answers than the 4"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_a_node_that_cannot_be_understood_is_left_out_for_the_round(
    case: str, tmp_path: Path
) -> None:
    spoil, why = LEFT_OUT[case]
    spoiling = Spoiling(spoil)
    run, remarks = run_with_bad_node(tmp_path, spoiling)
    assert remarks.startswith(f"Round 1, train: node {BAD} (clients 4-7) is left out: ")
    assert why in remarks
    assert len(remarks.splitlines()) == 1
    assert missing(run, 1, "train") == missing(run, 1, "evaluate") == HOSTED.tolist()
    assert run.rounds["trained"].tolist() == [8, 12]
    assert run.rounds["tested"].tolist() == [8, 12]
    # Not asked to evaluate in the first round, and for everything again in the second.
    assert spoiling.asked == [(1, "train"), (2, "train"), (2, "evaluate")]
    assert not rejected(run)


def test_measurements_that_make_no_sense_are_not_counted(tmp_path: Path) -> None:
    spoiling = Spoiling(altered(hits=lambda own: own + 10**6), "evaluate")
    run, remarks = run_with_bad_node(tmp_path, spoiling)
    assert not remarks
    assert rejected(run) == {"invalid": 4}
    assert run.rounds["tested"].tolist() == [8, 12]
    assert (run.rounds["accuracy"] <= 1).all()
    assert missing(run, 1, "evaluate") == []


KINDS = ["train", "train.place", "train.keep", "train.migrate", "query.drift", "evaluate"]


@pytest.mark.parametrize("kind", slow_but(("train.place", "query.drift"), KINDS))
def test_whatever_a_node_does_not_answer_flexcfl_goes_on(kind: str, tmp_path: Path) -> None:
    """It answers nothing of one kind that can be understood, in any round."""
    spoiling = Spoiling(lambda columns: RecordDict(), kind, rounds=tuple(range(9)))
    flexcfl = {"algorithm.name": "flexcfl", "algorithm.groups": 2, "algorithm.alpha": 3}
    shift = {"shift.name": "swap-all", "shift.probability": 0.6}
    run, remarks = run_with_bad_node(tmp_path, spoiling, **{**flexcfl, **shift, "run.rounds": 4})
    assert run.rounds["round"].tolist() == [1, 2, 3, 4]
    asked = [number for number, each in spoiling.asked if each == kind]
    assert len(remarks.splitlines()) == len(asked)
    assert asked
    for number in set(asked):
        after = spoiling.asked[spoiling.asked.index((number, kind)) + 1 :]
        assert all(other != number for other, _ in after)  # nothing more in that round
    assert (run.rounds["trained"] <= run.rounds["cohort"]).all()


def test_training_that_diverges_everywhere_is_told(tmp_path: Path) -> None:
    grid = InProcessGrid(shards(3, tmp_path / "memory"), listening=False)
    diverging = {**EVERYBODY, "local.rate": 1e30, "model.name": "mlp", "local.epochs": 9}
    with pytest.raises(TrainingError, match="lower the rate"):
        served(grid, diverging, tmp_path / "run", nodes=3)


def test_one_node_that_sends_nan_does_not_end_a_run_though_it_is_alone(tmp_path: Path) -> None:
    """It is no reason to believe that training comes to nothing for everybody."""
    spoiling = Spoiling(altered(updates=lambda own: own * np.nan), rounds=(1, 2, 3, 4))
    grid = InProcessGrid(shards(3, tmp_path / "memory"), spoiling, listening=False)

    def silenced(message: Message, context: Context) -> Message:
        if context.node_id != BAD and message.metadata.message_type == "train":
            return Message(refusal_record("busy"), reply_to=message)
        return spoiling(message, context)

    grid.handler = silenced
    run = served(grid, {**EVERYBODY, "run.rounds": 4}, tmp_path / "run", nodes=3)
    assert run.rounds["trained"].tolist() == [0] * 4
    assert run.rounds["rejected_not_finite"].tolist() == [4] * 4
