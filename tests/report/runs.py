"""Small real runs to look at, each made once for all tests of a process."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from flexcfl.experiment.objects import NO_OBJECTS
from tests.record.checkpoints.interrupted import prepared, stopped, whole

CLIENTS, ROUNDS = 12, 6
_made: dict[str, Path] = {}


def settled(algorithm: str, **settings: Any) -> Any:
    """Prepare a run on digits whose clients change."""
    shift = {"shift": "swap-all", "shift__probability": 0.3, "data__clients": CLIENTS}
    return prepared(algorithm, NO_OBJECTS, **{"seed": 0, **shift, **settings})


def made(factory: pytest.TempPathFactory, algorithm: str = "flexcfl", **settings: Any) -> Path:
    """Return the folder of a finished run, which nobody may change."""
    key = f"{algorithm} {settings}"
    if key not in _made:
        _made[key] = factory.mktemp("made") / f"{algorithm}-{len(_made)}"
        whole(settled(algorithm, **settings), _made[key])
    return _made[key]


def broken_off(factory: pytest.TempPathFactory, last: int, **settings: Any) -> Path:
    """Return the folder of a run that was stopped after a round."""
    key = f"broken off {last} {settings}"
    if key not in _made:
        _made[key] = factory.mktemp("made") / f"stopped-{len(_made)}"
        stopped(settled("flexcfl", **settings), _made[key], last)
    return _made[key]


def copied(folder: Path, into: Path, name: str = "run") -> Path:
    """Return a copy of a run that may be changed."""
    shutil.copytree(folder, into / name)
    return into / name
