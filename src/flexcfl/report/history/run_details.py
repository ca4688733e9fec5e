"""The details of one run: settings, figures, groups, traffic and files."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from flexcfl import lines
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Tables
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve
from flexcfl.record import folder as files
from flexcfl.record import run_folders
from flexcfl.record.folder import EXPERIMENT
from flexcfl.record.lock import is_held
from flexcfl.record.metrics import Cost
from flexcfl.record.reading import as_damage_error, find_runs, read
from flexcfl.record.record import Record
from flexcfl.record.summary import Summary
from flexcfl.record.tables import GROUPS, LEDGER, ROUNDS, Columns
from flexcfl.report.history.rows import RunRow, as_json, flat_settings, row_of

OURS: Mapping[str, Mapping[str, Any]] = {"data": DATASETS.ours, "algorithm": ALGORITHMS.ours}
# What each file in the folder of a run holds.
CONTENTS: Mapping[str, str] = {
    EXPERIMENT: "all settings, to run it again",
    files.SUMMARY: "its figures",
    ROUNDS: "figures of each round",
    GROUPS: "figures of each group in each round",
    LEDGER: "what was sent in each round, by purpose",
    "membership.csv": "each client's group in each round",
    files.CLIENTS: "each client's group at the end",
    files.FOUNDERS: "the clients that were clustered to found the groups, as points",
    files.LABELS: "the labels of each client at the start",
    "shifts.csv": "the clients whose data changed in each round",
    "timings.csv": "seconds for training and evaluation",
    "missing.csv": "the clients that did not answer in each round",
    "messages.csv": "the messages over the network",
    files.MODELS: "the model of each group (safetensors)",
    files.NEWCOMER: "what a new client needs to find its group (flexcfl place)",
    files.EXPORT: "the models for other programs, with a model card (flexcfl export)",
    run_folders.CHECKPOINTS: "to resume it from",
    run_folders.LOGS: "the output of its nodes",
    run_folders.NODES: "the files of its nodes",
}


@dataclass(frozen=True)
class GroupDetails:
    """A group in the last round: its number of clients and its accuracy."""

    group: int
    clients: int
    accuracy: float | None


@dataclass(frozen=True, eq=False)
class RunDetails:
    """The details of one run.

    Attributes:
        row: The run as in a list of runs.
        tables: Its settings, table by table.
        defaults: The default values of the settings that differ from their default; None if a
            setting has no default.
        accuracy: The accuracy of each round, NaN if it was not measured.
        groups: The groups of the last round.
        traffic: What was sent, by purpose.
        files: What each file in the folder holds.
        versions: The versions of the packages.
        made: The first comment in its settings, which says what made the run.
        again: The command to resume it or to run it again; empty if one command is not enough.
        summary: The summary, or the figures so far.

    """

    row: RunRow
    tables: Tables
    defaults: Mapping[str, Any]
    accuracy: NDArray[np.float64]
    groups: Sequence[GroupDetails]
    traffic: Mapping[str, Cost]
    files: Mapping[str, str]
    versions: Mapping[str, str]
    made: str
    again: str
    summary: Summary

    def content(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            **self.row.content(),
            "defaults": as_json(self.defaults),
            "accuracy": [None if np.isnan(each) else float(each) for each in self.accuracy],
            "groups": [asdict(group) for group in self.groups],
            "traffic": {purpose: asdict(cost) for purpose, cost in self.traffic.items()},
            "files": dict(self.files),
            "versions": dict(self.versions),
            "made": self.made,
            "again": self.again,
        }


def details(folder: str | Path) -> RunDetails:
    """Read the details of a run, finished or not.

    Args:
        folder: The folder of the run, or a folder with only one run in it.

    Returns:
        The details of the run.

    Raises:
        SettingsError: If there is no run or more than one, or its files are damaged.

    Example:
        from flexcfl.report.history import details

        print(details("runs/mine").row.figures["final"])

    """
    path = _only(Path(folder))
    held = is_held(path)
    run = read(path)
    summary = cast(Summary, {**(run.summary or {}), **run.so_far})
    row = row_of(run, held, summary)
    with as_damage_error(path):
        return RunDetails(
            row=row,
            tables=run.settings,
            defaults=_defaults(run.settings),
            accuracy=run.rounds["accuracy"].astype(np.float64),
            groups=_groups(run.groups, run.done),
            traffic=_traffic(run.ledger),
            files=_files(path),
            versions=summary.get("versions", {}),
            made=_producer(run.text),
            again=_rerun_command(run, row.state == "interrupted"),
            summary=summary,
        )


def _only(path: Path) -> Path:
    """Return the folder of a run, or of the only run within a folder."""
    runs = find_runs([path])
    if len(runs) == 1:
        return runs[0]
    raise SettingsError(
        f"There are {len(runs)} runs in '{path}': name one of them, such as '{runs[0]}'; "
        "'flexcfl runs' lists them."
    )


def _defaults(tables: Tables) -> dict[str, Any]:
    """Return the default values of the settings that differ from their default.

    The result is empty if a name is not built in, because reading a folder must not import code
    that it names.
    """
    kept = ("name", "folder")  # the folder of custom data has no default
    chosen = {
        table: {key: tables[table][key] for key in kept if key in tables[table]} for table in OURS
    }
    if any(chosen[table]["name"] not in ours for table, ours in OURS.items()):
        return {}
    usual = flat_settings(resolve([SettingsLayer("run", chosen)]).experiment.tables())
    own = flat_settings(tables)
    return {name: usual.get(name) for name in own if own[name] != usual.get(name)}


def _groups(table: Columns, done: int) -> list[GroupDetails]:
    """Return the groups of the last round that is ``done``; the next one may be half written."""
    last = table["round"] == min(done, int(table["round"].max(initial=0)))
    columns = (table[name][last].tolist() for name in ("group", "clients", "accuracy"))
    return [
        GroupDetails(group, clients, None if np.isnan(accuracy) else accuracy)
        for group, clients, accuracy in zip(*columns, strict=True)
    ]


def _traffic(table: Columns) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}
    columns = (table[name].tolist() for name in ("transfers", "down_bytes", "up_bytes"))
    for purpose, *sent in zip(table["purpose"].tolist(), *columns, strict=True):
        costs[purpose] = costs.get(purpose, Cost()) + Cost(*sent)
    return costs


def _files(path: Path) -> dict[str, str]:
    """Return the files and folders of a run that exist, with what they hold."""
    there = {name: path / name for name in CONTENTS}
    return {
        name: f"{CONTENTS[name]}; {_size(file)}"
        for name, file in there.items()
        if file.is_file() or file.is_dir()
    }


def _size(path: Path) -> str:
    if path.is_dir():
        number = sum(1 for _ in path.iterdir())
        return f"{number} {'file' if number == 1 else 'files'}"
    return lines.bytes_text(path.stat().st_size)


def _rerun_command(run: Record, unfinished: bool) -> str:
    if unfinished:
        return run_folders.resume_command(run.path)
    command = re.search(rf"To run it again: (flexcfl \w+) {EXPERIMENT}$", run.text, re.MULTILINE)
    return f"{command[1]} {shlex.quote(str(run.path / EXPERIMENT))}" if command else ""


def _producer(text: str) -> str:
    first = text.split("\n", 1)[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""
