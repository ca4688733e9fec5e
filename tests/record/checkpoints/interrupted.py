"""Small runs that are interrupted and resumed, and a comparison of two finished runs."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from flexcfl.data import Federation, IndexLists
from flexcfl.experiment.layers import options_layer
from flexcfl.experiment.objects import UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.record.folder import RunFolder
from flexcfl.record.tables import Round
from flexcfl.runner import console_run
from flexcfl.runner.execute import execute
from flexcfl.runner.origin import Origin
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.runner.restoring import restore
from flexcfl.runner.result import Run
from flexcfl.runner.stopping import Stop, StoppedError

CLIENTS, SIDE, CLASSES = 12, 4, 3
ROUNDS = 6
Settings = Mapping[str, object]

# What makes an option of an algorithm fit so few clients, and all of it happen within six rounds.
SMALL: Mapping[str, Settings] = {
    "cfl": {"eps1": 1e9, "eps2": 0.0, "least": 3, "rounds_before": 1},
    "flhc": {"groups": 2, "rounds_before": 3},
    **{name: {"groups": 2, "alpha": 3} for name in ("fedgroup", "flexcfl", "flexcfl-rac")},
    **{name: {"groups": 2} for name in ("flexcfl-rcc", "ifca", "ifca-mig", "fesem", "fesem-mig")},
}


class CrashError(Exception):
    """The power has gone."""


def pictures(clients: int = CLIENTS) -> Federation:
    """Return clients with images of two of three classes each, which can be turned."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(CLASSES), 8 * clients)
    x = rng.normal(size=(len(y), 1, SIDE, SIDE)).astype(np.float32)
    x[np.arange(len(y)), 0, y, 0] += 3
    train, test = [], []
    for client in range(clients):
        own = np.arange(24 * client, 24 * client + 24)
        own = own[y[own] != client % CLASSES][: 10 + client % 6]
        train.append(own[4:])
        test.append(own[:4])
    return Federation("pictures", x, y, IndexLists.of(train), IndexLists.of(test), CLASSES)


PICTURES = UserObjects(federation=pictures())


def prepared(algorithm: str = "flexcfl", own: UserObjects = PICTURES, **settings: Any) -> Prepared:
    """Prepare a small run; settings are written with two underscores for the dot."""
    named = {name.replace("__", "."): value for name, value in settings.items()}
    small = {f"algorithm.{name}": value for name, value in SMALL.get(algorithm, {}).items()}
    name = own.federation.name if own.federation is not None else "digits"
    given = {"algorithm": algorithm, "dataset": name, "model": "mclr", "rounds": ROUNDS}
    given |= {"cohort": 5, "epochs": 1, "batch": 4, "rate": 0.1}
    options = {name: named.pop(name) for name in list(named) if "." not in name}
    if "groups" in options:
        small.pop("algorithm.groups")
    return prepare(
        resolve([options_layer({**given, **options}, {**small, **named})], own).experiment, own
    )


def whole(prepared: Prepared, path: Path) -> Run:
    """Run without interruption."""
    path.mkdir()
    return execute(prepared, iter, RunFolder(path))


def stopped(prepared: Prepared, path: Path, last: int, again: bool = False) -> None:
    """Run until a request to stop in round ``last``, from the beginning or ``again``."""
    stop = Stop()

    def ask(number: int) -> None:
        if number == last:
            stop.asked = signal.SIGTERM

    _broken_off(prepared, path, ask, stop, again)


def crashed(prepared: Prepared, path: Path, last: int, again: bool = False) -> None:
    """Run until all ends, without a word, when round ``last`` has been written down."""

    def crash(number: int) -> None:
        if number == last:
            raise CrashError

    _broken_off(prepared, path, crash, None, again)


def _broken_off(
    prepared: Prepared, path: Path, each: Callable[[int], None], stop: Stop | None, again: bool
) -> None:
    def view(rounds: Iterator[Round]) -> Iterator[Round]:
        for done in rounds:
            each(done.figures.round)
            yield done

    if not again:
        path.mkdir()
    found = restore(path, prepared, Origin.of(prepared)) if again else None
    try:
        execute(prepared, view, RunFolder(path), stop, found)
    except (StoppedError, CrashError):
        return
    raise AssertionError("it was not broken off")


def resumed(path: Path, own: UserObjects = PICTURES) -> Run:
    """Resume a run as the command does."""
    return console_run.resume_experiment(path, Console(quiet=True), own=own)


def content(folder: Path) -> dict[str, object]:
    """Return all files of a run but what tells its time, by their names."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "timings.csv"
    }
    summary = json.loads(files["summary.json"])
    assert summary.pop("seconds") >= 0
    return {**files, "summary.json": summary}


def check_same(one: Run, other: Run) -> None:
    """Demand that two runs have given the same, in memory and on the disk."""
    for name in ("rounds", "groups", "ledger", "membership", "shifts", "labels"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert list(mine) == list(theirs)
        for key in mine:
            _check_arrays(mine[key], theirs[key])
    for key in ("models", "auxiliary", "group_of", "clustering", "waiting"):
        check_values(getattr(one, key), getattr(other, key))
    assert {**one.summary, "seconds": 0} == {**other.summary, "seconds": 0}
    assert one.folder is not None
    assert other.folder is not None
    assert content(one.folder) == content(other.folder)


def check_values(one: Any, other: Any) -> None:
    """Demand the same values of the same types, however they are nested."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        _check_arrays(one, other)
    elif isinstance(one, tuple | list):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            check_values(mine, theirs)
    elif hasattr(one, "__dataclass_fields__"):
        for item in fields(one):
            check_values(getattr(one, item.name), getattr(other, item.name))
    else:
        np.testing.assert_equal(one, other)


def _check_arrays(one: Any, other: Any) -> None:
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_array_equal(one, other)
