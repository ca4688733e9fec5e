"""All that one wants to know of one run: settings, figures, groups, traffic, files."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Tables
from flexcfl.experiment.layers import Layer
from flexcfl.experiment.resolve import resolve
from flexcfl.record import places
from flexcfl.record.figures import figures_in, versions_in
from flexcfl.record.folder import EXPERIMENT
from flexcfl.record.lock import is_held
from flexcfl.record.metrics import Cost
from flexcfl.record.runs import RunRead, damage_told, found, read
from flexcfl.record.state import state_of
from flexcfl.record.summary import Summary
from flexcfl.record.tables import ROUNDS, Columns
from flexcfl.report.history.files import held
from flexcfl.report.history.finding import reached, when
from flexcfl.report.history.row import Row, content_of, flat_settings

__all__ = ["Group", "Whole", "whole"]

OURS: Mapping[str, Mapping[str, Any]] = {"data": DATASETS.ours, "algorithm": ALGORITHMS.ours}


@dataclass(frozen=True)
class Group:
    """A group as it was in the last round: its clients, and how well they are served."""

    group: int
    clients: int
    accuracy: float | None


@dataclass(frozen=True, eq=False)
class Whole:
    """A run as it is shown alone.

    ``defaults`` are the values that settings have by default which this run has otherwise (None
    for none), ``accuracy`` is that of each round (NaN: none), ``traffic`` what was sent by purpose,
    ``files`` what is in the folder, ``made`` what its settings say of who made it, and ``again``
    the command to go on with it or to run it again, empty where it takes more than one.
    """

    row: Row
    tables: Tables
    defaults: Mapping[str, Any]
    accuracy: NDArray[np.float64]
    groups: Sequence[Group]
    traffic: Mapping[str, Cost]
    files: Mapping[str, str]
    versions: Mapping[str, str]
    made: str
    again: str
    summary: Summary

    def content(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {
            **self.row.content(),
            "defaults": content_of(self.defaults),
            "accuracy": [None if np.isnan(each) else float(each) for each in self.accuracy],
            "groups": [asdict(group) for group in self.groups],
            "traffic": {purpose: asdict(cost) for purpose, cost in self.traffic.items()},
            "files": dict(self.files),
            "versions": dict(self.versions),
            "made": self.made,
            "again": self.again,
        }


def whole(folder: str | Path) -> Whole:
    """Return all there is to tell of the run in a folder, finished or not."""
    path = _only(Path(folder))
    going_on = is_held(path)
    run = read(path)
    with damage_told(path):
        so_far = reached(run.rows[ROUNDS], run.settings)
        known = cast(Summary, {**(run.summary or {}), **so_far})
        figures, settings = figures_in(known), flat_settings(run.settings)
        state = state_of(run.summary is not None, going_on)
        return Whole(
            Row(path, state, when(path), settings, figures, run.summary),
            run.settings,
            _defaults(run.settings),
            run.rounds["accuracy"].astype(np.float64),
            _groups(run.record.groups, run.record.done),
            _traffic(run.ledger),
            held(path),
            versions_in(run.summary),
            _made(run.text),
            _again(run, state == "interrupted"),
            known,
        )


def _only(path: Path) -> Path:
    """Return the folder of a run, or of the only one within a folder."""
    runs = found([path])
    if len(runs) == 1:
        return runs[0]
    raise SettingsError(
        f"There are {len(runs)} runs in '{path}': name one of them, such as '{runs[0]}'; "
        "'flexcfl runs' lists them."
    )


def _defaults(tables: Tables) -> dict[str, Any]:
    """Return what is by default where this run has something else.

    Of names that are not ours nothing is: to look at a folder imports no code that it names.
    """
    kept = ("name", "folder")  # a folder of one's own has no default
    chosen = {
        table: {key: tables[table][key] for key in kept if key in tables[table]} for table in OURS
    }
    if any(chosen[table]["name"] not in ours for table, ours in OURS.items()):
        return {}
    usual = flat_settings(resolve([Layer("run", chosen)]).experiment.tables())
    own = flat_settings(tables)
    return {name: usual.get(name) for name in own if own[name] != usual.get(name)}


def _groups(table: Columns, last: int) -> list[Group]:
    if not table:
        return []
    rows = np.flatnonzero(table["round"] == min(last, int(table["round"].max())))
    return [
        Group(
            int(table["group"][row]),
            int(table["clients"][row]),
            None if np.isnan(table["accuracy"][row]) else float(table["accuracy"][row]),
        )
        for row in rows
    ]


def _traffic(costs: Columns) -> dict[str, Cost]:
    found: dict[str, Cost] = {}
    for row, purpose in enumerate(costs["purpose"]):
        sent = [int(costs[name][row]) for name in ("transfers", "down_bytes", "up_bytes")]
        found[str(purpose)] = found.get(str(purpose), Cost()) + Cost(*sent)
    return found


def _again(run: RunRead, unfinished: bool) -> str:
    if unfinished:
        return places.command(run.path)
    command = re.search(rf"To run it again: (flexcfl \w+) {EXPERIMENT}$", run.text, re.MULTILINE)
    return f"{command[1]} {shlex.quote(str(run.path / EXPERIMENT))}" if command else ""


def _made(text: str) -> str:
    first = text.split("\n", 1)[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""
