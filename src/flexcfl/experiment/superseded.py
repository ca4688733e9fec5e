"""What a later layer of settings sets aside below it: whatever came with the thing it replaces.

A run writes all its settings into ``experiment.toml``, those that its dataset and its algorithm
brought along as well. Who runs the file again with another dataset or algorithm wants what that
one brings; only values that differ from the defaults were somebody's own choice. Such a choice
stays where it means something to the new one as well, as the number of groups does to most.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from flexcfl.algorithms import ALGORITHMS, AlgorithmEntry
from flexcfl.data import DATASETS
from flexcfl.data.options import PARTICULAR, PoolOptions
from flexcfl.errors import SettingsError
from flexcfl.experiment.arrivals import SETTING
from flexcfl.experiment.defaults import ALGORITHM, DATASET, defaults
from flexcfl.experiment.named import NAMED, option_names
from flexcfl.experiment.shifts import names, shift_options

__all__ = ["Flat", "superseded"]

Flat: TypeAlias = Mapping[str, Any]  # values by "table.key"

CHOICES = {"data.name": DATASET, "algorithm.name": ALGORITHM}
PARTITION, PROX = "data.partition", "local.prox"
ARRIVALS = f"data.{SETTING}"  # of no dataset in particular


def superseded(below: Flat, above: Flat) -> set[str]:
    """Return the names of the settings below that what is said above leaves without a meaning."""
    before: Flat = {**CHOICES, **below}
    after: Flat = {**before, **above}
    changed = {name.split(".")[0] for name in CHOICES if after[name] != before[name]}
    gone = {name for name in below if name.split(".")[0] in changed} - {ARRIVALS}
    gone -= {f"algorithm.{option}" for option in _options(_algorithm(after))}
    if changed:
        # A file that names no dataset took over nothing from one: what it says is its own.
        old, new = _brought({**CHOICES, **above, **below}), _brought(after)
        gone |= {name for name in old.keys() & below.keys() if below[name] == old[name]}
        if old[PROX] and not new[PROX]:  # with a weight chosen for FedProx, FedAvg would be FedProx
            gone.add(PROX)
    if after.get(PARTITION) != before.get(PARTITION):
        gone |= _not_taken(after)
    if "local.epochs" in above:
        gone.add("local.steps")
    if not _algorithm(after).migrates:  # and nobody asks for drift
        gone |= {name for name in below if name.startswith("drift.")}
    for one, other in (("attack.share", "attack.clients"), ("attack.clients", "attack.share")):
        if one in above and other not in above:
            gone.add(other)
    if above.get("privacy.level") == "none":
        gone |= {name for name in below if name.startswith("privacy.")}
    left = {name: value for name, value in before.items() if name not in gone} | dict(above)
    return gone | _without_meaning(below, left)


def _without_meaning(below: Flat, after: Flat) -> set[str]:
    """Return the options of shifts, detectors, rules and attacks that are no longer chosen."""
    brought = _brought(after)
    chosen = {f"{table}.name": None for table in ("shift", *NAMED)}
    chosen = {name: after.get(name, brought[name]) for name in chosen}
    taken = {f"shift.{key}" for key in shift_options(names(chosen["shift.name"]))}
    for table in NAMED:
        taken |= {f"{table}.{key}" for key in option_names(table, chosen[f"{table}.name"])}
    before = {name: below.get(name, brought[name]) for name in chosen}
    changed = {name.split(".")[0] for name in chosen if before[name] != chosen[name]}
    return {
        name for name in below if name.split(".")[0] in changed and name not in {*taken, *chosen}
    }


def _brought(settings: Flat) -> Flat:
    """Return the settings that a dataset and an algorithm bring along."""
    algorithm = _algorithm(settings)
    options = {f"algorithm.{key}": value for key, value in _options(algorithm).items()}
    tables = defaults(str(settings["data.name"]), algorithm)
    return options | {
        f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()
    }


def _algorithm(settings: Flat) -> AlgorithmEntry:
    try:
        return ALGORITHMS[str(settings["algorithm.name"])]
    except (KeyError, SettingsError):  # which is told when it is to be used
        return ALGORITHMS[ALGORITHM]


def _options(algorithm: AlgorithmEntry) -> Flat:
    return {option.name: option.default for option in fields(algorithm.options)}


def _not_taken(settings: Flat) -> set[str]:
    """Return the settings of other partitions that the one chosen does not take."""
    try:
        dataset = DATASETS[str(settings["data.name"])]
    except (KeyError, SettingsError):
        return set()
    if not issubclass(dataset.options, PoolOptions):
        return set()
    taken = dataset.options.takes(str(settings[PARTITION]))
    return {f"data.{key}" for key in set(PARTICULAR) - set(taken)}
