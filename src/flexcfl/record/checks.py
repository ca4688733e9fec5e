"""Whether what a folder says of a run can be believed, and is of the run that is expected.

What is out of all proportion is refused here, before anybody makes room for it.
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

__all__ = [
    *("FREE", "MOST_CLIENTS", "check_finished", "check_numbers", "check_settings", "check_table"),
    *("difference", "without_free"),
]

# Where the data are and how often is saved makes no difference to what is computed.
FREE = {
    *("[run] data", "[data] folder"),
    *(f"[run] checkpoint_{how}" for how in ("rounds", "seconds", "share")),
}
NEEDED = {
    str: [("data", "name"), ("model", "name"), ("algorithm", "name")],
    int: [("run", "rounds"), ("run", "seed"), ("run", "cohort")],
}
# What comparisons need of a summary.
COMPARED = {
    *("algorithm", "dataset", "model", "shift", "seed", "rounds", "clients", "accuracy"),
    *("traffic", "shifted", "detected", "migrations", "placed", "seconds"),
}

Limits: TypeAlias = Sequence[tuple[float, float, Sequence[str]]]

MOST_CLIENTS, MOST_GROUPS, MOST_CLASSES = 10**7, 10**4, 10**6
COUNT = 2**53  # a sum over all rounds stays a whole number
FIGURE = 1e300  # and a mean over all seeds a number
SENT = ("transfers", "down_bytes", "up_bytes")
MEMBERS: Limits = [(0, MOST_GROUPS - 1, ["group"]), (0, MOST_CLIENTS - 1, ["client"])]
# The least and the most that columns of a table may hold.
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

NUMBERED = {ROUNDS: {"round": 1}, CLIENTS: {"client": 0}}  # with one line for each, from the first


def check_settings(settings: Tables) -> None:
    """Raise ``ValueError`` unless these are the settings of a run."""
    if not all(isinstance(table, dict) for table in settings.values()):
        raise ValueError("a setting stands outside of all tables")
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
    """Raise ``ValueError`` if the table with this file name lacks a line, or holds what cannot be.

    Numbers that are not known are left out.
    """
    for column, first in NUMBERED.get(name, {}).items():
        if not np.array_equal(table[column], np.arange(first, first + len(table[column]))):
            raise ValueError(f"{column}s are missing")
    for least, most, columns in LIMITS.get(name, []):
        for column in set(columns) & table.keys():
            check_numbers(column, table[column], least, most)


def check_numbers(what: str, values: NDArray[Any], least: float, most: float) -> None:
    """Raise ``ValueError`` unless all numbers, of those that there are, are within bounds."""
    known = values[~np.isnan(values)]
    if len(known) and not least <= known.min() <= known.max() <= most:
        raise ValueError(f"{what} {known.min()} to {known.max()}")


def check_finished(summary: Mapping[str, Any], settings: Tables) -> None:
    """Raise ``ValueError`` unless a summary has what comparisons need and is of these settings."""
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
            raise ValueError(f"{name} is of another run")


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return the first setting of some tables that is not what it was, or None if all are.

    >>> difference({"run": {"rounds": 2, "data": "a"}}, {"run": {"rounds": 3, "data": "b"}})
    '[run] rounds'
    """
    old, new = _flat(before), _flat(now)
    for name in [*old, *new]:
        if name not in FREE and (name not in old or name not in new or old[name] != new[name]):
            return name
    return None


def without_free(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return settings without those that make no difference to what is computed."""
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
