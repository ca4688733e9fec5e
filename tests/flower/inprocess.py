"""A grid whose nodes are in this process: a whole conversation in milliseconds, real messages."""

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity
from rich.console import Console

import flexcfl
from flexcfl.flower import client
from flexcfl.flower.messages import ABOUT, ARRAYS
from flexcfl.flower.server import serve
from flexcfl.runner.result import Run
from flexcfl.settings import assignments

QUIET = Console(quiet=True)

# A federation in which a run takes about a second: many small clients of three clusters.
SMALL: Mapping[str, object] = {
    "data.name": "clusters",
    "data.clients": 40,
    "data.examples": 20,
    "data.features": 4,
    "run.rounds": 3,
    "run.cohort": 10,
    "local.epochs": 1,
}
SWAPS: Mapping[str, object] = {"shift.name": "swap-all", "shift.probability": 0.5}

Handler = Callable[[Message, Context], Message]
Nodes: TypeAlias = dict[int, Mapping[str, Any]]


def slow_but(quick: Iterable[str], names: Iterable[str]) -> list[Any]:
    """Return the parameters of a test, which is slow but for a ``quick`` few."""
    few = set(quick)
    marks = {True: (), False: (pytest.mark.slow,)}
    return [pytest.param(name, marks=marks[name in few]) for name in names]


def context(node: int, config: Mapping[str, Any]) -> Context:
    return Context(
        run_id=1, node_id=node, node_config=dict(config), state=RecordDict(), run_config={}
    )


def records(about: str, columns: Mapping[str, Any]) -> RecordDict:
    """Return a message of any content; bytes are sent as they are, as a node may write them."""
    arrays = ArrayRecord(array_dict={name: _packed(each) for name, each in columns.items()})
    return RecordDict({ABOUT: ConfigRecord({"about": about}), ARRAYS: arrays})


def _packed(value: Any) -> Array:
    if isinstance(value, bytes):
        return Array(dtype="float32", shape=(1,), stype="numpy.ndarray", data=value)
    return Array.from_numpy_ndarray(np.asarray(value))


def over_the_wire(content: RecordDict) -> RecordDict:
    """Return records as another process reads them."""
    children = {
        identity: type(child).inflate(child.deflate(), child.children)
        for identity, child in (content.children or {}).items()
    }
    return RecordDict.inflate(content.deflate(), children)


@dataclass(eq=False)
class Clock:
    """A clock that goes on when somebody sleeps; ``alarm`` is told the time whenever it does."""

    now: float = 0.0
    alarm: Callable[[float], object] = lambda now: None

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.alarm(self.now)


@dataclass(eq=False)
class InProcessGrid(Grid):
    """``nodes`` are their configurations by id, ``handler`` what they run.

    ``down`` nodes take no message, ``silent`` ones never answer, and those with a delay do it when
    the ``clock`` has gone on by so much. ``heard`` has every message, there and back, if
    ``listening``.
    """

    nodes: Nodes
    handler: Handler = client.app.__call__
    down: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)
    listening: bool = True
    heard: list[Message] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)
    delays: dict[int, float] = field(default_factory=dict)
    waiting: dict[str, tuple[float, Message]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What the process of a ServerApp is told of itself, without which there is no message.
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return [self._pushed(message) for message in messages]

    def _pushed(self, message: Message) -> str:
        metadata = message.metadata
        metadata.__dict__["_message_id"] = message.object_id
        metadata.__dict__["_run_id"] = 1
        if self.listening:
            self.heard.append(message)
        node = metadata.dst_node_id
        if node in self.nodes and node not in self.down | self.silent:
            reply = self.handler(message, context(node, self.nodes[node]))
            reply.metadata.__dict__["_message_id"] = reply.object_id
            if self.listening:
                self.heard.append(reply)
            due = self.clock() + self.delays.get(node, 0.0)
            self.waiting[metadata.message_id] = due, reply
        return metadata.message_id

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        asked = [each for each in message_ids if each in self.waiting]
        known = [each for each in asked if self.waiting[each][0] <= self.clock()]
        return [self.waiting.pop(each)[1] for each in known]

    def get_node_ids(self) -> Iterable[int]:
        return [node for node in self.nodes if node not in self.down]

    def sent(self, kind: str) -> list[Message]:
        """Return the messages of one type that went to nodes."""
        return [
            message
            for message in self.heard
            if message.metadata.message_type == kind and not message.metadata.reply_to_message_id
        ]

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Any:
        raise NotImplementedError

    def create_message(self, *args: Any, **kwargs: Any) -> Message:
        raise NotImplementedError

    def send_and_receive(self, *args: Any, **kwargs: Any) -> Iterable[Message]:
        raise NotImplementedError


def shards(number: int, memory: object, **config: Any) -> Nodes:
    """Return the configurations of so many nodes that share a federation."""
    shared = {"num-partitions": number, "memory": str(memory), **config}
    return {100 + each: {"partition-id": each, **shared} for each in range(number)}


def served(
    grid: Grid,
    settings: Mapping[str, object],
    out: Path,
    *,
    nodes: int = 4,
    small: Mapping[str, object] = SMALL,
) -> Run:
    """Hold a ``small`` run with more settings on a grid, of which it waits for so many nodes."""
    words = _words({**small, "network.nodes": nodes, **settings})
    return serve(grid, {"set": shlex.join(words), "out": str(out)}, QUIET)


def resumed(grid: Grid, out: Path) -> Run:
    """Go on with the run in a folder, as after a crash of its server."""
    return serve(grid, {"resume": True, "out": str(out)}, QUIET)


def simulated(settings: Mapping[str, object], *, small: Mapping[str, object] = SMALL) -> Run:
    """Hold the same run in the simulator, which knows nothing of a network."""
    own = {name: each for name, each in settings.items() if not name.startswith("network.")}
    return flexcfl.run(set=assignments(_words({**small, **own})))


def _words(settings: Mapping[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]
