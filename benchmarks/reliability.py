"""What drop-out, broken and hostile clients, and privacy cost: the tables of docs/reliability.md.

Every row is one comparison over the same seeds, whose command is printed beside its figures.

Example: python benchmarks/reliability.py --data DIR --only drop-out
"""

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import flexcfl
from flexcfl.errors import FlexcflError

BASE: Mapping[str, Any] = {"dataset": "mnist", "shift": "swap-all"}
FOUNDERS = {"guards.founder_cosine": 0.05}
CLIP = {"guards.norm_bound": 2, "guards.norm_action": "clip"}
EVERYBODY = {"run.cohort": 1000, "run.rounds": 50}


def attack(name: str, rule: str = "mean") -> dict[str, Any]:
    """Return the settings of an attack by a fifth of the clients; any rule but the mean guards."""
    guarded = {} if rule == "mean" else {"aggregation.name": rule, **FOUNDERS}
    return {"attack.name": name, **guarded}


def private(level: str, noise: float) -> dict[str, Any]:
    """Return the settings of privacy where everybody trains in every round."""
    return {"privacy.level": level, "privacy.clip": 0.3, "privacy.noise": noise, **EVERYBODY}


ROBUST = ("median", "trimmed-mean", "krum", "multi-krum", "geometric-median", "clusters")
ROWS: Mapping[str, Mapping[str, Any]] = {
    "clean": {},
    "drop-out 30 %": {"faults.dropout": 0.3},
    "vanishing midway 30 %": {"faults.midway": 0.3},
    "stragglers": {"faults.slowness": 1.5},
    "NaN 10 %": {"faults.nan": 0.1},
    "a million times too long 10 %": {"faults.huge": 0.1},
    "stale 10 %": {"faults.stale": 0.1},
    **{f"clean, {rule}": {"aggregation.name": rule, **FOUNDERS} for rule in ROBUST},
    "sign flip": attack("sign-flip"),
    "sign flip, scale 1": {**attack("sign-flip"), "attack.scale": 1},
    "sign flip, mean of shortened": {**attack("sign-flip"), **FOUNDERS, **CLIP},
    **{f"sign flip, {rule}": attack("sign-flip", rule) for rule in ROBUST},
    "sign flip, multi-krum of shortened": {**attack("sign-flip", "multi-krum"), **CLIP},
    "sign flip, multi-krum, founders unguarded": {
        **attack("sign-flip"),
        "aggregation.name": "multi-krum",
    },
    **{
        f"{name}, {rule}": attack(name, rule)
        for name in ("noise", "label-flip", "drag")
        for rule in ("mean", "multi-krum", "geometric-median")
    },
    "everybody": EVERYBODY,
    **{f"private groups, noise {noise}": private("group", noise) for noise in (1, 2, 5, 10)},
    **{f"private clients, noise {noise}": private("client", noise) for noise in (0.1, 0.5, 1)},
}


def command(seeds: int, settings: Mapping[str, Any]) -> str:
    """Return the command that makes a row."""
    options = " ".join(f"--{name} {value}" for name, value in BASE.items())
    given = "".join(f" --set {name}={value}" for name, value in settings.items())
    return f"flexcfl compare flexcfl {options} --seeds {seeds}{given}"


def row(name: str, settings: Mapping[str, Any], seeds: int, data: Path | None) -> str:
    """Run one row on all seeds and return its line."""
    done = flexcfl.compare(["flexcfl"], seeds=seeds, data=data, set=settings, **BASE)
    runs = done.runs["flexcfl"]
    best, final = (_mean(run["accuracy"][key] for run in runs) for key in ("best", "final"))
    honest = _mean((run["honest"] or {}).get("final") for run in runs)
    rejected = fmean(sum(run["rejected"].values()) for run in runs)
    epsilon = [run["privacy"]["epsilon"] for run in runs if run["privacy"]]
    spent = f"{max(epsilon):.3g}" if epsilon else "-"
    cells = (name, best, final, honest, f"{rejected:,.0f}", spent, f"`{command(seeds, settings)}`")
    return f"| {' | '.join(cells)} |"


def _mean(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{100 * fmean(known):.1f}" if known else "-"


def main() -> None:
    """Print the table, row by row as they come."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the MNIST files")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    given = parser.parse_args()
    print("| | best | final | final, honest | rejected | epsilon | command |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name, settings in ROWS.items():
        if given.only in name:
            try:
                print(row(name, settings, given.seeds, given.data), flush=True)
            except FlexcflError as error:
                raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
