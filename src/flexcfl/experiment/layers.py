"""Settings by ``table.key``, from defaults, file, options and ``--set``; the later layer wins.

A later layer also removes settings that belong to what it replaces. A run writes all settings into
``experiment.toml``, including the defaults of its dataset and algorithm. If a later layer names
another dataset or algorithm, its defaults replace these. Only values that differ from the defaults
were chosen by the user; they stay if they still apply.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from flexcfl.algorithms import ALGORITHMS, AlgorithmEntry
from flexcfl.data import DATASETS
from flexcfl.data.options import PARTITION_SETTINGS, PoolOptions
from flexcfl.errors import SettingsError, nearest, unknown
from flexcfl.experiment.arrivals import SETTING
from flexcfl.experiment.choices import KINDS, NAMED, keys_by_name, names, option_names
from flexcfl.experiment.defaults import ALGORITHM, DATASET, Flat, defaults
from flexcfl.experiment.experiment import Experiment, Tables
from flexcfl.experiment.options import OPTIONS
from flexcfl.extensions import is_import_path

SHORT = ("shift", *NAMED)  # tables whose name alone may stand for them: shift = "swap-all"
TABLES = tuple(item.name for item in fields(Experiment))
CHOICES = {"data.name": DATASET, "algorithm.name": ALGORITHM}
PARTITION, PROX = "data.partition", "local.prox"
ARRIVALS = f"data.{SETTING}"  # of no dataset in particular


@dataclass(frozen=True)
class SettingsLayer:
    """Settings from one source, such as a file; they may be given by ``table.key`` or as tables."""

    source: str
    values: Flat

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", flattened(self.values))

    @property
    def tables(self) -> Tables:
        """The settings as tables."""
        return nested(self.values)


@dataclass(frozen=True)
class MergedSettings:
    """All settings that were given, each with the source that set it last."""

    values: Flat
    sources: Mapping[str, str]

    @property
    def tables(self) -> Tables:
        """The settings as tables, including empty ones."""
        return {table: {} for table in TABLES} | nested(self.values)


def flattened(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by ``table.key``, or raise a ``SettingsError``.

    >>> flattened({"local": {"prox": 0.1}, "run.seed": 3, "shift": "swap-all"})
    {'local.prox': 0.1, 'run.seed': 3, 'shift.name': 'swap-all'}
    """
    values: dict[str, Any] = {}
    for name, value in settings.items():
        for setting, each in _placed(name, value).items():
            if setting in values:
                raise SettingsError(f"'{setting}' is set twice: set it once.")
            values[setting] = each
    return values


def _placed(name: str, value: object) -> dict[str, Any]:
    """Return the settings that one assignment or one table sets."""
    table, dot, key = name.partition(".")
    tabled = isinstance(value, Mapping) and not dot
    if not (tabled or (table in SHORT and not dot) or (table and key)):
        raise SettingsError(
            f"'{name}' does not say which table it belongs to: "
            f"name both with a dot between, such as {_home(name)}."
        )
    if table not in TABLES:
        raise SettingsError(unknown("table", table, TABLES))
    if isinstance(value, Mapping) and not dot:
        return {f"{table}.{each}": own for each, own in value.items()}
    return {f"{table}.{key or 'name'}": value}


def _home(key: str) -> str:
    """Return the full name of a setting, or of several that may be meant, or else an example."""
    known = keys_by_name() | {name: [option.setting] for name, option in OPTIONS.items()}
    return " or ".join(known.get(nearest(key, known) or "", ["local.rate"]))


def nested(values: Flat) -> Tables:
    """Return settings as tables."""
    tables: Tables = {}
    for name, value in values.items():
        table, _, key = name.partition(".")
        tables.setdefault(table, {})[key] = value
    return tables


def options_layer(options: Mapping[str, object], assignments: object = None) -> SettingsLayer:
    """Return one layer from options such as ``rate=0.1`` and assignments of ``local.rate``.

    An assignment overrides an option, and options that are None were not given. They form one
    layer, so that neither removes the other. Options may also contain settings by ``table.key``,
    those of an object, which nothing overrides.
    """
    if assignments is not None and not isinstance(assignments, Mapping):
        raise SettingsError(
            f"set must be a mapping such as {{'local.prox': 0.1}}, not {assignments!r:.60}."
        )
    known = {name: value for name, value in options.items() if value is not None}
    assigned = flattened(assignments or {})
    for name in known.keys() & assigned.keys():
        table, _, key = name.partition(".")
        raise SettingsError(
            f"[{table}] {key} is set, but {table} is an object of your own: "
            "set its options where you make it."
        )
    named = {OPTIONS[name].setting if name in OPTIONS else name: known[name] for name in known}
    return SettingsLayer("given", flattened(named) | assigned)


def named_code(tables: Mapping[str, Any]) -> list[str]:
    """Return every ``package.module:name`` of an experiment, without importing any.

    >>> named_code({"model": {"name": "nets:make"}, "shift": ["swap-all", "mine:Tide"]})
    ['mine:Tide', 'nets:make']
    """
    values = flattened(tables)
    places = [f"{table}.name" for table in ("model", *KINDS) if table != "shift"]
    found = [values.get(place) for place in (*places, PARTITION)]
    found += names(values.get("shift.name", ()))
    return sorted({name for name in found if isinstance(name, str) and is_import_path(name)})


def merged(layers: Iterable[SettingsLayer]) -> MergedSettings:
    """Merge layers; later ones win."""
    values: Flat = {}
    sources: dict[str, str] = {}
    for layer in layers:
        gone = replaced_keys(values, layer.values)
        values = {name: value for name, value in values.items() if name not in gone}
        values |= layer.values
        sources |= dict.fromkeys(layer.values, layer.source)
    return MergedSettings(values, {name: sources[name] for name in values})


def replaced_keys(below: Flat, above: Flat) -> set[str]:
    """Return the names of the settings below that no longer apply with those above."""
    before: Flat = {**CHOICES, **below}
    after: Flat = {**before, **above}
    changed = {name.split(".")[0] for name in CHOICES if after[name] != before[name]}
    gone = {name for name in below if name.split(".")[0] in changed} - {ARRIVALS}
    gone -= {f"algorithm.{option}" for option in _options(_algorithm(after))}
    if changed:
        # A file that names no dataset has no defaults of one: all its values were chosen.
        old, new = _brought({**CHOICES, **above, **below}), _brought(after)
        gone |= {name for name in old.keys() & below.keys() if below[name] == old[name]}
        if old[PROX] and not new[PROX]:  # with a weight chosen for FedProx, FedAvg would be FedProx
            gone.add(PROX)
    if after.get(PARTITION) != before.get(PARTITION):
        gone |= _not_taken(after)
    if "local.epochs" in above:
        gone.add("local.steps")
    if not _algorithm(after).migrates:  # such an algorithm does not check for drift
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
    gone = set()
    for table in SHORT:
        name = f"{table}.name"
        now = after.get(name, brought[name])
        if below.get(name, brought[name]) != now:
            taken = {name, *(f"{table}.{key}" for key in option_names(table, now))}
            gone |= {each for each in below if each.startswith(f"{table}.")} - taken
    return gone


def _brought(settings: Flat) -> Flat:
    """Return the default settings of a dataset and an algorithm."""
    algorithm = _algorithm(settings)
    options = {f"algorithm.{key}": value for key, value in _options(algorithm).items()}
    return options | defaults(str(settings["data.name"]), algorithm)


def _algorithm(settings: Flat) -> AlgorithmEntry:
    try:
        return ALGORITHMS[str(settings["algorithm.name"])]
    except (KeyError, SettingsError):  # raised again when it is used
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
    return {f"data.{key}" for key in set(PARTITION_SETTINGS) - set(taken)}
