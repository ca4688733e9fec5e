"""Run folders made by hand: of any size, with any names, in no time."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from flexcfl.protocol import spans
from flexcfl.record import csv_tables as tables
from flexcfl.record.tables import GroupFigures, Membership, RoundFigures, Shifted

__all__ = ["construct"]


def construct(
    path: Path,
    *,
    method: str = "flexcfl",
    dataset: str = "digits",
    model: str = "mclr",
    seed: int = 0,
    clients: int = 12,
    rounds: int = 6,
    groups: int = 3,
    moving: float = 0.1,
    measured: bool = True,
    names: Sequence[str] = (),
    accuracy: Sequence[float | None] = (),
) -> Path:
    """Leave what a finished run leaves in which a share of the clients moves in every round.

    An ``accuracy`` for each round may be given, None where it is not measured.
    """
    rng = np.random.default_rng(seed)
    curve = accuracy or [1 - 1 / (1 + n) if measured else None for n in range(1, rounds + 1)]
    rounds = len(curve)
    path.mkdir(parents=True)
    group_of = rng.integers(groups, size=clients)
    members = [Membership(0, client, int(group_of[client])) for client in range(clients)]
    lines: list[RoundFigures] = []
    of_groups: list[GroupFigures] = []
    shifts: list[Shifted] = []
    for number in range(1, rounds + 1):
        moved = np.flatnonzero(rng.random(clients) < moving)
        group_of[moved] = (group_of[moved] + rng.integers(1, max(groups, 2), len(moved))) % groups
        members += [Membership(number, client, int(group_of[client])) for client in moved.tolist()]
        if len(moved):
            shifts.append(Shifted(number, spans(moved)))
        lines.append(_figures(number, clients, len(moved), curve[number - 1]))
        accuracies = rng.random(groups)
        of_groups += [
            GroupFigures(
                number,
                group,
                float(accuracies[group]) if measured else None,
                0.5,
                int((group_of == group).sum()),
                0.25,
            )
            for group in range(groups)
        ]
    _write(path / "rounds.csv", RoundFigures, lines)
    _write(path / "groups.csv", GroupFigures, of_groups)
    _write(path / "membership.csv", Membership, members)
    _write(path / "shifts.csv", Shifted, shifts)
    kept = rng.integers(10, size=clients).tolist()
    labels = ((each, (kept[each] + more) % 10, 20, 5) for each in range(clients) for more in (0, 1))
    _table(path / "labels.csv", "client,label,train,test", labels)
    points = rng.normal(0, 0.1, (min(clients, 50), 2)).tolist()
    found = ((each, each % groups, each % groups + x, y) for each, (x, y) in enumerate(points))
    _table(path / "founders.csv", "client,group,x0,x1", found)
    head = "client,group,arrival,structure" + (",name" if names else "")
    ends = enumerate(group_of.tolist())
    everybody = ((each, group, 0, None, *names[each : each + 1]) for each, group in ends)
    _table(path / "clients.csv", head, everybody)
    settings = {
        "data": {"name": dataset},
        "model": {"name": model},
        "algorithm": {"name": method},
        "local": {"epochs": 1, "batch": 10, "rate": 0.1},
        "shift": {"name": ["swap-all"], "probability": moving},
        "run": {"rounds": rounds, "cohort": 10, "seed": seed},
    }
    (path / "summary.json").write_text(json.dumps({"parameters": 650}))
    (path / "experiment.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    return path


def _figures(number: int, clients: int, moved: int, accuracy: float | None) -> RoundFigures:
    figures: dict[str, Any] = {each.name: 0 for each in fields(RoundFigures)}
    return RoundFigures(**{
        **figures,
        "round": number,
        "accuracy": accuracy,
        "honest_accuracy": None,
        "newcomers_accuracy": None,
        "auxiliary_accuracy": None,
        "loss": 1 / number,
        "discrepancy": 1 / (1 + number),
        "placed": clients,
        "shifted": moved,
        "detected": moved,
        "migrated": moved,
        "transfers": 20,
        "down_bytes": 26000,
        "up_bytes": 26000,
    })  # fmt: skip


def _write(path: Path, kind: type[Any], rows: Iterable[Any]) -> None:
    _table(path, ",".join(each.name for each in fields(kind)), map(astuple, rows))


def _table(path: Path, head: str, rows: Iterable[Sequence[object]]) -> None:
    path.write_text(tables.to_csv([head.split(","), *rows]), encoding="utf-8")
