"""The values that trackers log, named as in the run folder, and the packages that they need."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any, TypeAlias

from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.record.tables import GroupFigures, RoundFigures
from flexcfl.runner.callbacks import Beginning

Values: TypeAlias = dict[str, float]
Setting: TypeAlias = bool | int | float | str

KEYS = {"round", "group"}  # columns that identify a line


def round_values(figures: RoundFigures, groups: Iterable[GroupFigures]) -> Values:
    """Return the figures of a round, by names such as ``rounds/loss`` and ``groups/0/clients``.

    Missing figures are left out.
    """
    named = {f"groups/{each.group}": each for each in groups} | {"rounds": figures}
    return {
        f"{table}/{column}": value
        for table, row in named.items()
        for column, value in asdict(row).items()
        if column not in KEYS and value is not None
    }


def past_rounds(beginning: Beginning) -> Iterator[tuple[int, Values]]:
    """Yield the number and the figures of each round that was done before."""
    groups: dict[int, list[GroupFigures]] = {}
    for each in beginning.groups:
        groups.setdefault(each.round, []).append(each)
    for figures in beginning.rounds:
        yield figures.round, round_values(figures, groups.get(figures.round, ()))


def summary_values(summary: Mapping[str, Any], table: str = "summary") -> Values:
    """Return all numbers of a summary, by names such as ``summary/accuracy/best``.

    >>> summary_values({"accuracy": {"best": 0.5, "final": None}, "model": "mclr", "clients": 9})
    {'summary/accuracy/best': 0.5, 'summary/clients': 9}
    """
    found: Values = {}
    for key, value in summary.items():
        if isinstance(value, Mapping):
            found |= summary_values(value, f"{table}/{key}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[f"{table}/{key}"] = value
    return found


def settings(experiment: Experiment) -> dict[str, Setting]:
    """Return all settings of an experiment, by names such as ``local.rate``."""
    return {
        f"{table}.{key}": _plain(value)
        for table, keys in experiment.tables().items()
        for key, value in keys.items()
    }


def _plain(value: Any) -> Setting:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "+".join(value) or "none"  # shifts, as the summary has them
    return json.dumps(value)


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an extra, or raise an error that says how to install the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing_extra(extra, error) from None


def missing_extra(extra: str, error: ImportError) -> SettingsError:
    """Return the error for a package that cannot be imported."""
    what = f"module '{error.name}'" if error.name else str(error)
    return SettingsError(
        f"What '{extra}' needs is not installed ({what}): pip install 'flexcfl[{extra}]', then try "
        "again."
    )
