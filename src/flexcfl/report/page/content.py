"""The content of a page: runs grouped by setting, and within a setting by method."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flexcfl.experiment.experiment import Tables
from flexcfl.protocol import Flags
from flexcfl.record.reading import read
from flexcfl.record.record import Record, measured_rounds, runs_by_method
from flexcfl.report.charts import OF_METHODS, charts_of_run
from flexcfl.report.history.finding import read_runs
from flexcfl.report.history.rows import flat_settings

# Settings that may differ between runs of one method: the seed, and where and how they run.
IGNORED = {"run.seed", "run.data", "run.device", "run.rounds", "network.nodes", "network.patience"}
CHECKPOINTS = "checkpoint_"
SHARED = ("data", "model", "shift")  # tables that all runs of a setting share
MOST_DETAILED = 40  # runs with charts of their own: each takes about a tenth of a megabyte


@dataclass(frozen=True, eq=False)
class Setting:
    """Runs on the same data with the same model, shifts and rounds, which can be compared."""

    name: str
    runs: Sequence[Record]

    @property
    def measured(self) -> Flags:
        """For each round, whether all runs are measured; only these rounds are compared."""
        return measured_rounds(self.runs)

    @property
    def methods(self) -> dict[str, list[Record]]:
        """The runs of each method, one for each seed."""
        return runs_by_method(self.runs)

    @property
    def titles(self) -> list[str]:
        """The title of each run; it includes the folder if a method has the same seed twice."""
        names = [f"{run.method}, seed {run.seed}" for run in self.runs]
        return [
            f"{name} ({run.path.name})" if names.count(name) > 1 else name
            for name, run in zip(names, self.runs, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Report:
    """The content of a page: settings with their runs, in the order in which they were found.

    ``left_out`` are sentences about runs that cannot be shown.

    Example:
        from pathlib import Path
        from flexcfl.report.page import Report

        report = Report.of([Path("runs")])

    """

    settings: Sequence[Setting]
    left_out: Sequence[str] = ()

    @classmethod
    def of(cls, paths: Iterable[Path], read: Callable[[Path], Record] = read) -> "Report":
        """Return the report of the runs in these folders, or within them.

        Args:
            paths: Folders of runs, or with runs in them.
            read: The function that reads the run in a folder.

        Raises:
            SettingsError: If there is no run, or a named run cannot be read.

        """
        runs, left_out = read_runs(paths, read)
        return cls(_settings(runs), left_out)

    @property
    def runs(self) -> list[Record]:
        """All runs."""
        return [run for setting in self.settings for run in setting.runs]

    @property
    def finished(self) -> bool:
        """Whether all runs are finished."""
        return all(run.summary is not None for run in self.runs)

    def detailed(self, setting: Setting) -> list[int]:
        """Return the positions of a setting's runs that have charts of their own.

        With very many runs, these are the first seed of each method, or one run with groups of
        each setting, because a page with all of them would be too large to open.
        """
        if len(self.runs) <= MOST_DETAILED:
            return list(range(len(setting.runs)))
        methods = [run.method for run in setting.runs]
        firsts = [place for place, method in enumerate(methods) if method not in methods[:place]]
        if sum(len(each.methods) for each in self.settings) <= MOST_DETAILED:
            return firsts
        grouped = [place for place in firsts if setting.runs[place].group_count > 1]
        return (grouped or firsts)[:1]

    def chapters(self) -> list[str]:
        """Return the names of all chapters: one for each setting, and for runs in it."""
        names = []
        for place, setting in enumerate(self.settings):
            names.append(f"{place}")
            names += [f"{place}-{run}" for run in self.detailed(setting)]
        return names

    def chapter(self, name: str) -> list[dict[str, Any]]:
        """Return the charts of a setting or of a run, as JSON values."""
        setting, _, run = name.partition("-")
        chosen = self.settings[int(setting)]
        if not run:
            begun = [record for record in chosen.runs if record.done]
            return [of(begun).content() for of in OF_METHODS.values()] if begun else []
        record = chosen.runs[int(run)]
        return [chart.content() for chart in charts_of_run(record)] if record.done else []


def _settings(runs: Sequence[Record]) -> list[Setting]:
    """Group runs by their shared settings, in the order of their first appearance."""
    found: dict[frozenset[tuple[str, str]], list[Record]] = {}
    for run in runs:
        found.setdefault(frozenset(_shared(run.settings).items()), []).append(run)
    firsts = [each[0].settings for each in found.values()]
    names = _distinct([_setting_name(each) for each in firsts], [_shared(each) for each in firsts])
    return [
        Setting(name, _with_names(each)) for name, each in zip(names, found.values(), strict=True)
    ]


def _shared(tables: Tables) -> dict[str, str]:
    """Return the settings that must be the same for runs to be compared."""
    alike = {key: each for key, each in _compared(tables).items() if key.split(".")[0] in SHARED}
    return {**alike, "run.rounds": str(tables["run"]["rounds"])}


def _setting_name(tables: Tables) -> str:
    shift = " and ".join(tables.get("shift", {}).get("name", [])) or "no shift"
    rounds = tables["run"]["rounds"]
    length = f"{rounds} {'round' if rounds == 1 else 'rounds'}"
    return f"{tables['data']['name']}, {tables['model']['name']}, {shift}, {length}"


def _with_names(runs: Sequence[Record]) -> list[Record]:
    """Return the runs with names of their methods, which include settings that differ.

    Runs of one method are next to each other, sorted by seed.
    """
    names = _distinct([run.method for run in runs], [_compared(run.settings) for run in runs])
    order = list(dict.fromkeys(names))
    renamed = [replace(run, label=name) for run, name in zip(runs, names, strict=True)]
    return sorted(renamed, key=lambda run: (order.index(run.method), run.seed))


def _distinct(names: Sequence[str], settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the names; equal names get the settings in which they differ."""
    pairs = list(zip(names, settings, strict=True))
    differing = {
        name: _differing([own for other, own in pairs if other == name])
        for name in dict.fromkeys(names)
    }
    made = []
    for name, own in pairs:
        words = [f"{_short(key)} {own[key]}" for key in differing[name] if key in own]
        made.append(f"{name} ({', '.join(words)})" if words else name)
    return made


def _differing(settings: Sequence[Mapping[str, str]]) -> list[str]:
    keys = dict.fromkeys(key for each in settings for key in each)
    return [key for key in keys if len({each.get(key) for each in settings}) > 1]


def _short(key: str) -> str:
    table, _, name = key.partition(".")
    return name if table == "algorithm" else f"{table} {name}" if name != "name" else table


def _compared(tables: Tables) -> dict[str, str]:
    """Return the settings in which methods may differ, by names such as ``local.rate``."""
    return {
        key: str(value)
        for key, value in flat_settings(tables).items()
        if key not in IGNORED and not key.partition(".")[2].startswith(CHECKPOINTS)
    }
