"""The runs of a comparison: every algorithm with every seed, all else equal.

Mistakes that can be found without the data are found here, before a process starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import Federation
from flexcfl.errors import SettingsError, nearest, unknown
from flexcfl.experiment.defaults import Flat
from flexcfl.experiment.experiment import Experiment, Tables
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.objects import UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.record.run_folders import distinct_names

DEFAULT = ("fedavg", "ifca", "flexcfl")
# Clustered algorithms have to see every client once; the same cohorts keep the comparison fair.
COHORTS = "round-robin-then-uniform"
MOST = 1000  # seeds or processes: a larger number is a typing error


@dataclass(frozen=True)
class PlannedRun:
    """One run of a comparison; ``label`` names the algorithm in the name of its folder."""

    algorithm: str
    experiment: Experiment
    label: str

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.experiment.run.seed

    @property
    def folder(self) -> str:
        """The name of the run's folder within the folder of the comparison."""
        return f"{self.label}-seed{self.seed}"

    @property
    def title(self) -> str:
        """The name of the run in error messages."""
        return f"'{self.algorithm}' with seed {self.seed}"


def plan_runs(
    algorithms: Sequence[str],
    seeds: int,
    given: SettingsLayer,
    federation: Federation | None = None,
) -> tuple[PlannedRun, ...]:
    """Return the runs, seed by seed, so that all algorithms progress side by side.

    A setting that only some of the algorithms have applies to those.
    """
    _check_names(algorithms)
    check_number("seeds", seeds)
    _check_free_of_names_and_seeds(given.values)
    _check_known(algorithms, given.values)
    values = {"run.cohorts": COHORTS, **given.values}
    applying = {name: _settings_for(name, algorithms, values) for name in algorithms}
    return tuple(
        PlannedRun(name, _experiment(name, seed, applying[name], federation), label)
        for seed in range(seeds)
        for name, label in distinct_names(algorithms).items()
    )


def shared_settings(experiments: Sequence[Experiment]) -> Tables:
    """Return the settings that all experiments share."""
    first, *others = [experiment.tables() for experiment in experiments]
    return {
        table: {
            key: value
            for key, value in keys.items()
            if all(key in other.get(table, {}) and other[table][key] == value for other in others)
        }
        for table, keys in first.items()
    }


def own_settings(experiment: Experiment, common: Tables) -> Tables:
    """Return the settings of an experiment that are not in ``common``, except its seed."""
    own_keys = {
        table: {key: value for key, value in keys.items() if key not in common.get(table, {})}
        for table, keys in experiment.tables().items()
    }
    own_keys["run"].pop("seed", None)
    return {table: keys for table, keys in own_keys.items() if keys}


def check_number(name: str, number: object) -> None:
    """Raise if ``number`` cannot be a number of seeds, rounds or processes."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST:
        raise SettingsError(
            f"{name} must be a whole number from 1 to {MOST}, not {number!r:.60}: "
            f"correct --{name}, or leave it out."
        )


def _check_names(algorithms: Sequence[str]) -> None:
    if not algorithms:
        raise SettingsError(
            "There is no algorithm to compare: name some, such as fedavg and flexcfl."
        )
    for name in algorithms:
        if name not in ALGORITHMS:
            raise SettingsError(unknown("algorithm", str(name), ALGORITHMS))
    twice = [name for index, name in enumerate(algorithms) if name in algorithms[:index]]
    if twice:
        raise SettingsError(f"'{twice[0]}' is named twice: name every algorithm once.")


def _check_free_of_names_and_seeds(given: Flat) -> None:
    if "algorithm.name" in given:
        raise SettingsError(
            "algorithm.name cannot be set for a comparison: name the algorithms as its arguments."
        )
    if "run.seed" in given:
        raise SettingsError(
            "run.seed cannot be set for a comparison, whose seeds count from 0: "
            "set their number with --seeds."
        )


def _check_known(algorithms: Sequence[str], given: Flat) -> None:
    """Refuse a misspelled option; the resolver refuses names that resemble no option."""
    known = {option for name in algorithms for option in _options(name)}
    options = {
        setting.removeprefix("algorithm.") for setting in given if setting.startswith("algorithm.")
    }
    for key in sorted(options - known):
        near = nearest(key, known)
        if near:
            raise SettingsError(
                f"None of the algorithms ({', '.join(algorithms)}) has a setting '{key}': "
                f"did you mean '{near}'?"
            )


def _options(algorithm: str) -> set[str]:
    return {option.name for option in fields(ALGORITHMS[algorithm].options)}


def _takes_auto(algorithm: str) -> bool:
    """Whether the algorithm can find the number of its groups itself."""
    kind = ALGORITHMS[algorithm].options
    try:
        return "groups" in _options(algorithm) and bool(kind(groups="auto"))
    except ValueError:
        return False


def _settings_for(name: str, algorithms: Sequence[str], given: Flat) -> Flat:
    """Return the settings for one algorithm, without those that only the others have."""
    entry, entries = ALGORITHMS[name], [ALGORITHMS[each] for each in algorithms]
    known = {option for each in algorithms for option in _options(each)}
    others = {f"algorithm.{option}" for option in known - _options(name)}
    some = [each for each in algorithms if _takes_auto(each)]
    if given.get("algorithm.groups") == "auto" and some and name not in some:
        others.add("algorithm.groups")  # an algorithm that cannot find the number uses the default
    # The weight of FedProx's term would turn every other algorithm into its own proximal variant.
    if any(each.proximal for each in entries) and not entry.proximal:
        others.add("local.prox")
    # If some algorithms migrate, drift settings apply to those; if none does, they are a mistake.
    if any(each.migrates for each in entries) and not entry.migrates:
        others |= {setting for setting in given if setting.startswith("drift.")}
    return {setting: value for setting, value in given.items() if setting not in others}


def _experiment(name: str, seed: int, values: Flat, federation: Federation | None) -> Experiment:
    layer = SettingsLayer("given", {**values, "algorithm.name": name, "run.seed": seed})
    try:
        return resolve([layer], UserObjects(federation)).experiment
    except SettingsError as error:
        # Other algorithms may accept what this one refuses.
        about = f"'{name}': " if str(error).startswith("[algorithm]") else ""
        raise SettingsError(f"{about}{error}") from None
