"""Checks of what is read from a run folder: its values are plausible, and it is the expected run.

Absurdly large numbers are refused here, before memory is allocated for them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.experiment.experiment import Tables
from flexcfl.record.folder import CLIENTS, FOUNDERS, LABELS
from flexcfl.record.summary import check_summary
from flexcfl.record.tables import GROUPS, LEDGER, MEMBERSHIP, ROUNDS, SHIFTS, Columns
from flexcfl.trust.guards import REASONS

# Settings that do not change what is computed: where the data are and how often to save.
FREE = {
    *("[run] data", "[data] folder"),
    *(f"[run] checkpoint_{how}" for how in ("rounds", "seconds", "share")),
}
NEEDED = {
    str: [("data", "name"), ("model", "name"), ("algorithm", "name")],
    int: [("run", "rounds"), ("run", "seed"), ("run", "cohort")],
}
# The keys of a summary that comparisons need.
COMPARED = {
    *("algorithm", "dataset", "model", "shift", "seed", "rounds", "clients", "accuracy"),
    *("traffic", "shifted", "detected", "migrations", "placed", "seconds"),
}

Limits: TypeAlias = Sequence[tuple[float, float, Sequence[str]]]

MOST_CLIENTS, MOST_GROUPS, MOST_CLASSES = 10**7, 10**4, 10**6
COUNT = 2**53  # a sum over all rounds stays an exact integer
FIGURE = 1e300  # a mean over all seeds stays finite
SENT = ("transfers", "down_bytes", "up_bytes")
MEMBERS: Limits = [(0, MOST_GROUPS - 1, ["group"]), (0, MOST_CLIENTS - 1, ["client"])]
# The smallest and the largest value of the columns of each table.
LIMITS: Mapping[str, Limits] = {
    ROUNDS: [
        (0, COUNT, [*SENT, "cohort", "trained", "placed", "shifted", "detected", "placed_again"]),
        (0, COUNT, ["migrated", "clipped", *(f"rejected_{reason}" for reason in REASONS)]),
        (-FIGURE, FIGURE, ["loss", "discrepancy"]),
        (0, 1, [f"{whose}accuracy" for whose in ("", "honest_", "newcomers_", "auxiliary_")]),
    ],
    GROUPS: [
        (0, 1, ["accuracy"]),
        (0, MOST_GROUPS - 1, ["group"]),
        (0, COUNT, ["round", "clients"]),
    ],
    LEDGER: [(0, COUNT, SENT)],
    MEMBERSHIP: [*MEMBERS, (0, COUNT, ["round"])],
    SHIFTS: [(1, COUNT, ["round"])],
    LABELS: [
        (0, MOST_CLIENTS - 1, ["client"]),
        (0, MOST_CLASSES - 1, ["label"]),
        (0, COUNT, ["train", "test"]),
    ],
    FOUNDERS: MEMBERS,
    CLIENTS: MEMBERS,
}

NUMBERED = {ROUNDS: {"round": 1}, CLIENTS: {"client": 0}}  # one line for each, from this number


def check_settings(settings: Tables) -> None:
    """Raise ``ValueError`` unless these are the settings of a run."""
    if not all(isinstance(table, dict) for table in settings.values()):
        raise ValueError("a setting is outside of all tables")
    for kind, places in NEEDED.items():
        for table, key in places:
            if type(settings.get(table, {}).get(key)) is not kind:
                raise ValueError(f"no [{table}] {key}")
    if settings["run"]["cohort"] < 1:
        raise ValueError(f"[run] cohort {settings['run']['cohort']}")
    local = set(settings.get("local", {}))
    if not local & {"epochs", "steps"} or not {"batch", "rate"} <= local:
        raise ValueError("no [local] training")
    names = settings.get("shift", {}).get("name", [])
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("no [shift] name")


def check_table(name: str, table: Columns) -> None:
    """Raise ``ValueError`` if the table with this file name lacks a line or has impossible values.

    Empty cells are not checked.
    """
    for column, first in NUMBERED.get(name, {}).items():
        if not np.array_equal(table[column], np.arange(first, first + len(table[column]))):
            raise ValueError(f"{column}s are missing")
    for least, most, columns in LIMITS.get(name, []):
        for column in set(columns) & table.keys():
            check_numbers(column, table[column], least, most)


def check_numbers(what: str, values: NDArray[Any], least: float, most: float) -> None:
    """Raise ``ValueError`` unless all known numbers are within bounds."""
    known = values[~np.isnan(values)]
    if len(known) and not least <= known.min() <= known.max() <= most:
        raise ValueError(f"{what} {known.min()} to {known.max()}")


def check_finished(summary: Mapping[str, Any], settings: Tables) -> None:
    """Raise ``ValueError`` unless a summary has all that comparisons need and fits the settings."""
    check_summary(summary)
    if not summary.keys() >= COMPARED:
        raise ValueError(f"no {min(COMPARED - summary.keys())}")
    wanted = {
        "algorithm": settings["algorithm"]["name"],
        "dataset": settings["data"]["name"],
        "model": settings["model"]["name"],
        "shift": "+".join(settings.get("shift", {}).get("name", [])) or None,
        "seed": settings["run"]["seed"],
        "rounds": settings["run"]["rounds"],
    }
    for name, value in wanted.items():
        if summary[name] != value:
            raise ValueError(f"{name} belongs to another run")


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return the first setting that differs between two sets of tables, or None.

    >>> difference({"run": {"rounds": 2, "data": "a"}}, {"run": {"rounds": 3, "data": "b"}})
    '[run] rounds'
    """
    old, new = _flat(before), _flat(now)
    for name in [*old, *new]:
        if name not in FREE and (name not in old or name not in new or old[name] != new[name]):
            return name
    return None


def without_free(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return settings without those that do not change what is computed."""
    return {
        table: {key: value for key, value in keys.items() if f"[{table}] {key}" not in FREE}
        for table, keys in tables.items()
    }


def _flat(tables: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for table, keys in tables.items():
        named = keys.items() if isinstance(keys, Mapping) else [("", keys)]
        flat |= {f"[{table}] {key}".rstrip(): value for key, value in named}
    return flat
