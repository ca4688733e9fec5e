"""Complete the given settings with the defaults of the dataset, and build the experiment."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from flexcfl.algorithms import ALGORITHMS, AlgorithmEntry, NoOptions
from flexcfl.data import DATASETS
from flexcfl.errors import SettingsError, matching_name, nearest
from flexcfl.experiment import arrivals
from flexcfl.experiment.arrivals import SETTING
from flexcfl.experiment.choices import KINDS, RULE, keys_by_name, named_options, shifts
from flexcfl.experiment.defaults import Flat, defaults
from flexcfl.experiment.experiment import PLAIN, DataSettings, Experiment, NamedOptions, Tables
from flexcfl.experiment.layers import TABLES, SettingsLayer, merged, nested
from flexcfl.experiment.objects import NO_OBJECTS, UserObjects
from flexcfl.settings import validated
from flexcfl.shifts import Shift
from flexcfl.trust.guards import Guards
from flexcfl.trust.privacy import Privacy


@dataclass(frozen=True)
class Resolved:
    """A complete experiment, and the source of each given setting by ``table.key``."""

    experiment: Experiment
    sources: Mapping[str, str]


def resolve(layers: Iterable[SettingsLayer], objects: UserObjects = NO_OBJECTS) -> Resolved:
    """Return the experiment that the layers and the caller's objects describe."""
    given = merged(layers)
    values, federation = given.values, objects.federation
    dataset = _chosen("data", values, federation.name if federation else None)
    algorithm = _chosen("algorithm", values)
    options = KINDS["algorithm"].options_of(algorithm)  # raises if it does not exist
    entry = ALGORITHMS[algorithm]
    kind = NoOptions if federation else KINDS["data"].options_of(dataset)
    data = _data(nested(values).get("data", {}), dataset, kind)
    brought = defaults(dataset, entry)
    if "run.cohort" not in values:  # otherwise the clients need not be counted
        brought["run.cohort"] = _fitting(brought["run.cohort"], data, objects)
    tables: Tables = {table: {} for table in TABLES} | nested({**brought, **values})
    _check_groups(algorithm, entry, tables["algorithm"])
    _check_weight(entry, tables["algorithm"])
    _check_asked(algorithm, entry, values)
    for table, owner in (("algorithm", options), ("local", PLAIN["local"]), ("run", PLAIN["run"])):
        _check_home(table, values, owner)
    plain: dict[str, Any] = {
        table: _anchored(validated(kind, tables[table], f"[{table}]"))
        for table, kind in PLAIN.items()
    }
    experiment = Experiment(
        data=data,
        algorithm=NamedOptions(algorithm, _options(tables["algorithm"], "[algorithm]", options)),
        shift=_shifts(tables["shift"], objects),
        drift=_detector(tables["drift"], objects),
        aggregation=named_options("aggregation", tables["aggregation"]),
        attack=named_options("attack", tables["attack"]),
        **plain,
    )
    arrivals.check_rounds(data.arrivals, experiment.run.rounds)
    _check_private(experiment)
    return Resolved(experiment, given.sources)


def _chosen(table: str, values: Flat, default: str | None = None) -> str:
    name = values.get(f"{table}.name", default or KINDS[table].default)
    if not isinstance(name, str):
        raise SettingsError(f"[{table}] name must be a text, not {name!r}.")
    return name


def _fitting(cohort: int, data: DataSettings, objects: UserObjects) -> int:
    """Return the default cohort, limited to the clients that are there at the start."""
    federation = objects.federation
    clients = federation.clients if federation else DATASETS[data.name].count(data.options)
    if clients is None:
        return cohort
    return min(cohort, max(arrivals.numbers(data.arrivals, clients)[0], 1))


def _shifts(table: dict[str, Any], objects: UserObjects) -> Mapping[str, Shift]:
    if objects.shifts is None:
        return shifts(table)
    _check_alone("shift", table)
    return objects.shifts


def _detector(table: dict[str, Any], objects: UserObjects) -> NamedOptions:
    if objects.detector is None:
        return named_options("drift", table)
    _check_alone("drift", table)
    return NamedOptions(str(table["name"]), objects.detector)


def _check_alone(name: str, table: dict[str, Any]) -> None:
    """Refuse settings for a part that the caller passes as an object."""
    for key in table.keys() - {"name"}:
        raise SettingsError(
            f"[{name}] {key} is set, but {name} is an object of your own: "
            "set its options where you make it."
        )


def _data(table: dict[str, Any], name: str, options: type[Any]) -> DataSettings:
    own = {option.name for option in fields(options)}
    for key in table.keys() - own - {SETTING, "name"}:
        if nearest(key, [*own, SETTING]) == SETTING:  # which is not among the options
            raise SettingsError(f"[data] has no setting '{key}': did you mean '{SETTING}'?")
    keys = {key: value for key, value in table.items() if key != SETTING}
    later = arrivals.checked(table.get(SETTING, ()))
    return DataSettings(name, _options(keys, "[data]", options), later)


def _options(table: dict[str, Any], where: str, options: type[Any]) -> Any:
    keys = {key: value for key, value in table.items() if key != "name"}
    return _anchored(validated(options, keys, where))


def _anchored(settings: Any) -> Any:
    """Make paths absolute, so that a saved experiment can be run from any folder."""
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
    """Refuse ``groups`` if the algorithm has no such option, but allow 1 for a single model."""
    if "groups" not in table or any(option.name == "groups" for option in fields(entry.options)):
        return
    groups = table.pop("groups")
    if fields(entry.options):  # a clustered algorithm that finds the number itself
        raise SettingsError(
            f"'{name}' finds the number of its groups by itself: leave --groups out, and see "
            f"'flexcfl algorithms {name}' for its options."
        )
    if groups != 1 or isinstance(groups, bool):
        raise SettingsError(
            f"'{name}' trains one model for everybody and has no groups: "
            "leave --groups out, or set it to 1."
        )


def _check_asked(name: str, entry: AlgorithmEntry, values: Flat) -> None:
    """Refuse drift settings if the algorithm does not ask clients about drift."""
    if not entry.migrates and any(each.startswith("drift.") for each in values):
        migrating = ", ".join(each for each, other in ALGORITHMS.ours.items() if other.migrates)
        raise SettingsError(
            f"'{name}' asks no client whether its data have drifted: leave --drift and [drift] "
            f"out, or choose an algorithm that migrates ({migrating})."
        )


def _check_weight(entry: AlgorithmEntry, table: dict[str, Any]) -> None:
    """Point to ``local.prox`` for the weight of FedProx, which its paper calls mu."""
    own = {option.name for option in fields(entry.options)}
    for key in sorted({"mu", "prox"} & (table.keys() - own)):
        raise SettingsError(
            f"[algorithm] has no setting '{key}': the weight of FedProx's term is local.prox."
        )


def _check_home(table: str, values: Flat, kind: type[Any]) -> None:
    """Name the right table if a setting, or a synonym of it, belongs to another one."""
    own = ["name", *(option.name for option in fields(kind))]
    known = keys_by_name()
    for key in nested(values).get(table, {}):
        there = None if matching_name(key, own) else matching_name(key, known)
        if there and not any(name.startswith(f"{table}.") for name in known[there]):
            others = " or ".join(f"'{name}'" for name in known[there])
            raise SettingsError(f"[{table}] has no setting '{key}': did you mean {others}?")


def _check_private(experiment: Experiment) -> None:
    """Refuse settings that would not give the privacy that they promise."""
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
    if privacy.level == "group" and rule != RULE:
        raise SettingsError(
            f"[privacy] level = group adds its noise to means, whose bound on what one client "
            f"changes '{rule}' does not have: use aggregation.name=mean, or privacy.level=client."
        )
