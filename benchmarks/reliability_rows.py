"""The rows of the tables of docs/reliability.md, with the settings of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

__all__ = ["BASE", "FOUNDERS", "SEEDS", "TABLES", "Row", "Settings", "Table", "command", "sets"]

Settings: TypeAlias = Mapping[str, Any]
Row: TypeAlias = tuple[str, str]  # the names of a table and of one of its rows

SEEDS = 6  # counted from 0, unless a table says otherwise
BASE: Mapping[str, Any] = {"dataset": "mnist", "shift": "swap-all"}
NONE: Row = ("failing", "none")
FOUNDERS = {"guards.founder_cosine": 0.05}
CLIP = {"guards.norm_bound": 2, "guards.norm_action": "clip"}
EVERYBODY = {"run.cohort": 1000, "run.rounds": 50}
ROBUST = ("median", "trimmed-mean", "krum", "multi-krum", "geometric-median", "clusters")


@dataclass(frozen=True)
class Table:
    """Rows that are compared ``against`` one row, and the figures shown with their accuracies."""

    head: str
    rows: Mapping[str, Settings]
    against: Row = NONE
    beside: tuple[str, ...] = ("rejected",)
    seeds: int = SEEDS


def ruled(rule: str) -> Settings:
    """Return the settings of a rule of aggregation, with the guard on founders."""
    return {"aggregation.name": rule, **FOUNDERS}


def attack(name: str, rule: str = "mean") -> Settings:
    """Return the settings of an attack by a fifth of the clients; all rules except mean guard."""
    return {"attack.name": name, **({} if rule == "mean" else ruled(rule))}


def private(level: str, noise: float) -> Settings:
    """Return the settings of privacy."""
    return {"privacy.level": level, "privacy.clip": 0.3, "privacy.noise": noise}


FAILING: Mapping[str, Settings] = {
    "none": {},
    "30 % away in every round": {"faults.dropout": 0.3},
    "30 % vanish over their training, in every round": {"faults.midway": 0.3},
    "stragglers": {"faults.slowness": 1.5},
    "10 % send NaN": {"faults.nan": 0.1},
    "10 % send updates a million times too long": {"faults.huge": 0.1},
    "10 % send the update before": {"faults.stale": 0.1},
}
FLIP = attack("sign-flip")
HOSTILE: Mapping[str, Settings] = {
    "sign flip, plain averaging": FLIP,
    "the same, not lengthened": {**FLIP, "attack.scale": 1},
    "sign flip, clusters": attack("sign-flip", "clusters"),
    "sign flip, multi-krum": attack("sign-flip", "multi-krum"),
    "sign flip, multi-krum, founders unguarded": {**FLIP, "aggregation.name": "multi-krum"},
    "sign flip, mean of updates shortened to twice the median": {**FLIP, **FOUNDERS, **CLIP},
    "sign flip, multi-krum of updates so shortened": {**attack("sign-flip", "multi-krum"), **CLIP},
    "noise, multi-krum": attack("noise", "multi-krum"),
    "label-flip, multi-krum": attack("label-flip", "multi-krum"),
    "drag, multi-krum": attack("drag", "multi-krum"),
}
OTHER_RULES: Mapping[str, Settings] = {
    **{
        f"sign flip, {rule}": attack("sign-flip", rule)
        for rule in ("median", "trimmed-mean", "krum", "geometric-median")
    },
    **{
        f"{name}, {'plain averaging' if rule == 'mean' else rule}": attack(name, rule)
        for name in ("noise", "label-flip", "drag")
        for rule in ("mean", "geometric-median")
    },
}
FEW: Mapping[str, Settings] = {
    f"noise for each group, noise {noise}": private("group", noise) for noise in (0.1, 1)
}
PRIVATE: Mapping[str, Settings] = {
    "none": EVERYBODY,
    **{
        f"noise for each group, noise {noise}": {**private("group", noise), **EVERYBODY}
        for noise in (1, 2, 5, 10)
    },
    **{
        f"noise by each client, noise {noise}": {**private("client", noise), **EVERYBODY}
        for noise in (0.1, 0.5, 1)
    },
}

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "failing": Table("clients that fail", FAILING, seeds=12),
        "hostile": Table(
            "a fifth of the clients attack (updates ten times as long)",
            HOSTILE,
            beside=("honest", "rejected"),
        ),
        "hostile, other rules": Table(
            "the same attacks, other rules", OTHER_RULES, beside=("honest", "rejected"), seeds=3
        ),
        "peaceful": Table("nobody attacks", {rule: ruled(rule) for rule in ROBUST}, seeds=3),
        "private, few": Table(
            "privacy, 20 clients train in each of 300 rounds", FEW, beside=("epsilon",)
        ),
        "private": Table(
            "privacy, everybody trains in each of 50 rounds",
            PRIVATE,
            against=("private", "none"),
            beside=("epsilon",),
            seeds=3,
        ),
    }
)


def sets(settings: Settings) -> str:
    """Return settings as options of a command."""
    return " ".join(f"--set {name}={value}" for name, value in settings.items())


def command(seeds: int, settings: Settings) -> str:
    """Return the command that makes a row."""
    options = " ".join(f"--{name} {value}" for name, value in BASE.items())
    return f"flexcfl compare flexcfl {options} --seeds {seeds} {sets(settings)}".rstrip()
