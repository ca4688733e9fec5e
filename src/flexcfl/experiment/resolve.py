"""From settings that were given to a complete experiment, over the defaults of its dataset."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from flexcfl.algorithms import ALGORITHMS, AlgorithmEntry, NoOptions
from flexcfl.data import DATASETS, Federation
from flexcfl.errors import SettingsError, nearest, same, unknown
from flexcfl.experiment import arrivals, named
from flexcfl.experiment import shifts as moving
from flexcfl.experiment.arrivals import SETTING
from flexcfl.experiment.defaults import ALGORITHM, DATASET, defaults
from flexcfl.experiment.experiment import Choice, Data, Experiment, Model, RunSettings, Tables
from flexcfl.experiment.layers import Layer, homes, merged
from flexcfl.experiment.network import Network
from flexcfl.experiment.own import NOTHING, Own
from flexcfl.protocol import Local
from flexcfl.settings import validated
from flexcfl.shifts import Shift
from flexcfl.trust.faults import Faults
from flexcfl.trust.guards import Guards
from flexcfl.trust.privacy import Privacy

__all__ = ["Resolved", "resolve"]


@dataclass(frozen=True)
class Resolved:
    """A complete experiment and, by ``table.key``, where the settings that were given come from."""

    experiment: Experiment
    sources: dict[str, str]


def resolve(layers: Iterable[Layer], own: Own = NOTHING) -> Resolved:
    """Return the experiment that the layers describe, with what the caller has of its own."""
    given = merged(layers)
    dataset = _chosen("data", given.tables, own.federation.name if own.federation else DATASET)
    algorithm = _chosen("algorithm", given.tables, ALGORITHM)
    if algorithm not in ALGORITHMS:
        raise SettingsError(unknown("algorithm", algorithm, ALGORITHMS))
    if own.federation is None and dataset not in DATASETS:
        raise SettingsError(unknown("dataset", dataset, DATASETS))
    entry = ALGORITHMS[algorithm]
    options = NoOptions if own.federation else DATASETS[dataset].options
    data = _data(given.tables["data"], dataset, options)
    brought = defaults(dataset, entry)
    if "cohort" not in given.tables["run"]:  # else nobody need look how many clients there are
        brought = _fitting(brought, data, own.federation)
    tables = {name: brought[name] | keys for name, keys in given.tables.items()}
    _check_groups(algorithm, entry, tables["algorithm"])
    _check_weight(entry, tables["algorithm"])
    _check_asked(algorithm, entry, given.tables["drift"])
    for name, kind in (("algorithm", entry.options), ("local", Local), ("run", RunSettings)):
        _check_home(name, given.tables[name], kind)
    experiment = Experiment(
        data=data,
        model=validated(Model, tables["model"], "[model]"),
        algorithm=Choice(algorithm, _options(tables["algorithm"], "[algorithm]", entry.options)),
        local=validated(Local, tables["local"], "[local]"),
        shift=_shifts(tables["shift"], own),
        drift=_detector(tables["drift"], own),
        aggregation=named.chosen("aggregation", tables["aggregation"]),
        guards=validated(Guards, tables["guards"], "[guards]"),
        faults=validated(Faults, tables["faults"], "[faults]"),
        attack=named.chosen("attack", tables["attack"]),
        privacy=validated(Privacy, tables["privacy"], "[privacy]"),
        network=validated(Network, tables["network"], "[network]"),
        run=_anchored(validated(RunSettings, tables["run"], "[run]")),
    )
    arrivals.check_rounds(data.arrivals, experiment.run.rounds)
    _check_private(experiment)
    return Resolved(experiment, dict(given.sources))


def _fitting(brought: Tables, data: Data, federation: Federation | None) -> Tables:
    """Let the default cohort be no larger than a small federation is at the start."""
    clients = federation.clients if federation else DATASETS[data.name].count(data.options)
    if clients is None:
        return brought
    there = arrivals.numbers(data.arrivals, clients)[0]
    cohort = min(brought["run"]["cohort"], max(there, 1))
    return {**brought, "run": {**brought["run"], "cohort": cohort}}


def _shifts(table: dict[str, Any], own: Own) -> Mapping[str, Shift]:
    if own.shifts is None:
        return moving.shifts(table)
    _check_alone("shift", table)
    return own.shifts


def _detector(table: dict[str, Any], own: Own) -> Choice:
    if own.detector is None:
        return named.chosen("drift", table)
    _check_alone("drift", table)
    return Choice(str(table["name"]), own.detector)


def _check_alone(name: str, table: dict[str, Any]) -> None:
    """Refuse settings for what the caller has brought as an object."""
    for key in table.keys() - {"name"}:
        raise SettingsError(
            f"[{name}] {key} is set, but {name} is an object of your own: "
            "set its options where you make it."
        )


def _chosen(table: str, tables: Tables, default: str) -> str:
    name = tables[table].get("name", default)
    if not isinstance(name, str):
        raise SettingsError(f"[{table}] name must be a text, not {name!r}.")
    return name


def _data(table: dict[str, Any], name: str, options: type[Any]) -> Data:
    own = {option.name for option in fields(options)}
    for key in table.keys() - own - {SETTING, "name"}:
        if nearest(key, [*own, SETTING]) == SETTING:  # which the options do not know of
            raise SettingsError(f"[data] has no setting '{key}': did you mean '{SETTING}'?")
    keys = {key: value for key, value in table.items() if key != SETTING}
    later = arrivals.checked(table.get(SETTING, ()))
    return Data(name, _options(keys, "[data]", options), later)


def _options(table: dict[str, Any], where: str, options: type[Any]) -> Any:
    keys = {key: value for key, value in table.items() if key != "name"}
    return _anchored(validated(options, keys, where))


def _anchored(settings: Any) -> Any:
    """Make paths absolute, so that what is written down can be run from any folder."""
    values = {item.name: getattr(settings, item.name) for item in fields(settings)}
    paths = {name: value for name, value in values.items() if isinstance(value, Path)}
    for name, path in paths.items():
        _check_text(name, path)
    return replace(settings, **{name: path.absolute() for name, path in paths.items()})


def _check_text(name: str, path: Path) -> None:
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise SettingsError(
            f"The path {str(path)!r} ({name}) is not UTF-8 text and could not be written down "
            "with the run: rename it, or reach it through a link of another name."
        ) from None


def _check_groups(name: str, entry: AlgorithmEntry, table: dict[str, Any]) -> None:
    """Let one group pass where there is one model for everybody: that is what it has."""
    if "groups" not in table or any(option.name == "groups" for option in fields(entry.options)):
        return
    groups = table.pop("groups")
    if fields(entry.options):  # a clustered algorithm, which has no such number to be told
        raise SettingsError(
            f"'{name}' finds the number of its groups by itself: leave --groups out, and see "
            f"'flexcfl algorithms {name}' for its options."
        )
    if groups != 1 or isinstance(groups, bool):
        raise SettingsError(
            f"'{name}' trains one model for everybody and has no groups: "
            "leave --groups out, or set it to 1."
        )


def _check_asked(name: str, entry: AlgorithmEntry, table: dict[str, Any]) -> None:
    """Refuse a way to notice drift where nobody asks for it."""
    if table and not entry.migrates:
        migrating = ", ".join(each for each, other in ALGORITHMS.ours.items() if other.migrates)
        raise SettingsError(
            f"'{name}' asks no client whether its data have drifted: leave --drift and [drift] "
            f"out, or choose an algorithm that migrates ({migrating})."
        )


def _check_weight(entry: AlgorithmEntry, table: dict[str, Any]) -> None:
    """Say where the weight of FedProx is set, which its paper calls mu."""
    own = {option.name for option in fields(entry.options)}
    for key in sorted({"mu", "prox"} & (table.keys() - own)):
        raise SettingsError(
            f"[algorithm] has no setting '{key}': the weight of FedProx's term is local.prox."
        )


def _check_home(table: str, keys: Tables, kind: type[Any]) -> None:
    """Say where a setting belongs that another table has, under this name or another."""
    own = ["name", *(option.name for option in fields(kind))]
    known = homes()
    for key in keys:
        there = None if same(key, own) else same(key, known)
        if there and not any(name.startswith(f"{table}.") for name in known[there]):
            others = " or ".join(f"'{name}'" for name in known[there])
            raise SettingsError(f"[{table}] has no setting '{key}': did you mean {others}?")


def _check_private(experiment: Experiment) -> None:
    """Refuse privacy that would not be what it says."""
    privacy, rule = experiment.privacy, experiment.aggregation.name
    if privacy.level == "none" and privacy != Privacy():
        changed = next(
            each.name
            for each in fields(privacy)
            if getattr(privacy, each.name) != getattr(Privacy(), each.name)
        )
        raise SettingsError(
            f"[privacy] {changed} is set, but updates are neither clipped nor noised: "
            "set privacy.level to client or group."
        )
    if privacy.level == "group" and experiment.guards != Guards():
        raise SettingsError(
            "[guards] compares updates with each other, so that one decides on another, and "
            "privacy.level=group shortens all of them anyway: leave [guards] out, or use "
            "privacy.level=client."
        )
    if privacy.level == "group" and rule != named.RULE:
        raise SettingsError(
            f"[privacy] level = group adds its noise to means, whose bound on what one client "
            f"changes '{rule}' does not have: use aggregation.name=mean, or privacy.level=client."
        )
