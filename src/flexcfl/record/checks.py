"""Whether what a folder says of a run can be believed: whoever draws it relies on that.

What is out of all proportion is refused here, before anybody makes room for it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.experiment.experiment import Tables
from flexcfl.record.record import Record, shift_marks
from flexcfl.record.tables import Columns

__all__ = [
    "MOST_CLIENTS",
    "check_costs",
    "check_numbers",
    "check_record",
    "check_rounds",
    "check_settings",
]

MOST_CLIENTS, MOST_GROUPS, MOST_CLASSES = 10**7, 10**4, 10**6
COUNT = 2**53  # a sum over all rounds stays a whole number
FIGURE = 1e300  # and a mean over all seeds a number
NEEDED = {
    str: [("data", "name"), ("model", "name"), ("algorithm", "name")],
    int: [("run", "rounds"), ("run", "seed"), ("run", "cohort")],
}


def check_settings(settings: Tables) -> None:
    """Raise ``ValueError`` unless these are the settings of a run."""
    if not all(isinstance(table, dict) for table in settings.values()):
        raise ValueError("a setting stands outside of all tables")
    for kind, places in NEEDED.items():
        for table, key in places:
            if type(settings.get(table, {}).get(key)) is not kind:
                raise ValueError(f"no [{table}] {key}")
    if not {"epochs", "steps"} & set(local := settings.get("local", {})) or not {
        "batch",
        "rate",
    } <= set(local):
        raise ValueError("no [local] training")
    names = settings.get("shift", {}).get("name", [])
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("no [shift] name")


def check_record(record: Record) -> None:
    """Raise ``ValueError`` if figures of a run contradict each other or cannot be."""
    check_rounds(record.rounds)
    _check(record.groups, 0, 1, "accuracy")
    for table in (record.groups, record.membership, record.founders):
        _check(table, 0, MOST_GROUPS - 1, "group")
    for table in (record.membership, record.labels, record.founders):
        _check(table, 0, record.clients - 1, "client")
    _check(record.groups, 0, COUNT, "round", "clients")
    _check(record.membership, 0, COUNT, "round")
    _check(record.shifts, 1, COUNT, "round")
    _check(record.labels, 0, MOST_CLASSES - 1, "label")
    _check(record.labels, 0, COUNT, "train", "test")
    for clients in shift_marks(record):
        check_numbers("client", clients, 0, record.clients - 1)


def check_rounds(rounds: Columns) -> None:
    """Raise ``ValueError`` if a round is missing, or a figure of one cannot be."""
    if rounds["round"].tolist() != list(range(1, len(rounds["round"]) + 1)):
        raise ValueError("rounds are missing")
    check_costs(rounds)
    _check(rounds, 0, COUNT, "shifted", "migrated", "detected")
    _check(rounds, -FIGURE, FIGURE, "loss", "discrepancy")
    _check(rounds, 0, 1, "accuracy")


def check_costs(table: Columns) -> None:
    """Raise ``ValueError`` if what was sent, in all rounds or for a purpose, cannot be."""
    _check(table, 0, COUNT, "transfers", "down_bytes", "up_bytes")


def check_numbers(what: str, values: NDArray[Any], least: float, most: float) -> None:
    """Raise ``ValueError`` unless all numbers, of those that there are, are within bounds."""
    known = values[~np.isnan(values)]
    if len(known) and not least <= known.min() <= known.max() <= most:
        raise ValueError(f"{what} {known.min()} to {known.max()}")


def _check(table: Columns, least: float, most: float, *names: str) -> None:
    for name in names if table else ():
        check_numbers(name, table[name], least, most)
