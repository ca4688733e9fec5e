"""Summaries of runs that never were, and what is left of folders when times are taken out."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexcfl.comparison import Comparison
from flexcfl.comparison.worker_messages import Done


@pytest.fixture
def summary() -> Callable[..., Any]:
    def make(algorithm: str, seed: int, best: float | None, cost: float = 1.0) -> dict[str, Any]:
        return {
            "algorithm": algorithm,
            "dataset": "digits",
            "model": "mclr",
            "shift": "swap-all",
            "seed": seed,
            "accuracy": {"best": best, "final": best, "median": best},
            "honest": None,
            "privacy": {"epsilon": 2.5},
            "traffic": {
                "transfers": 40 * cost,
                "relative_to_fedavg": cost,
                "down_bytes": 3_000_000,
                "up_bytes": 1_000_000,
            },
            "rounds": 12,
            "diverged": 0,
            "clients": 100,
            "placed": 78 if best is None else 100,
            "migrations": 7,
            "shifted": 9,
            "detected": 8,
            "seconds": 1.5,
        }

    return make


@pytest.fixture
def comparison(summary: Callable[..., Any]) -> Comparison:
    """Three seeds of IFCA, FedAvg and FlexCFL, the last of which is measured from round 3 on.

    FedAvg has its best round before that, and IFCA swings: of the rounds that all have, its best is
    the best of all, and its last ten are the lowest.
    """
    number = np.arange(1, 15)
    plain = np.where(number == 2, 0.99, 0.7)
    swinging = np.where(number == 4, 0.95, 0.6)
    late = np.where(number < 3, np.nan, 0.9)
    done = {
        "ifca": [Done(summary("ifca", seed, 0.95, cost=2.0), swinging) for seed in range(3)],
        "fedavg": [
            Done(summary("fedavg", seed, 0.99), np.minimum(plain + seed / 100, 0.99))
            for seed in range(3)
        ],
        "flexcfl": [Done(summary("flexcfl", seed, 0.9, cost=1.26), late) for seed in range(3)],
    }
    return Comparison.of(done)


@pytest.fixture(scope="session")
def snapshot() -> Callable[[Path], dict[str, bytes]]:
    """Return the files of a folder by name, without the times that they tell."""

    def take(folder: Path) -> dict[str, bytes]:
        files = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
        return {
            name: _without_times(path)
            for name, path in files.items()
            if path.is_file() and path.name != "timings.csv"
        }

    return take


def _without_times(path: Path) -> bytes:
    if path.name == "comparison.csv":
        rows = csv.DictReader(path.read_text().splitlines())
        return json.dumps([{**row, "seconds": None} for row in rows]).encode()
    if path.suffix != ".json":
        return path.read_bytes()
    content = json.loads(path.read_bytes())
    content.pop("seconds", None)
    for each in content.get("algorithms", {}).values():
        del each["figures"]["seconds"]
    return json.dumps(content).encode()
