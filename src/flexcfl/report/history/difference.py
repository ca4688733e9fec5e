"""How runs differ: in settings, in figures, from which round on, and in what computed them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import SettingsError
from flexcfl.record.figures import FIGURES
from flexcfl.report.history.row import content_of
from flexcfl.report.history.whole import Whole
from flexcfl.settings import shown

__all__ = ["Curves", "Difference", "difference"]

MISSING = object()  # no value, not even none


@dataclass(frozen=True)
class Curves:
    """How the accuracies of two runs compare over the rounds that both have done.

    ``first`` is the first round in which they differ, None if they are the same to the last digit.
    """

    compared: int
    first: int | None


@dataclass(frozen=True)
class Difference:
    """Values side by side, one for each run in their order; None where a run has none.

    ``curves`` compare each run but the first with the first one.
    """

    folders: Sequence[str]
    settings: Mapping[str, tuple[Any, ...]]
    same: Mapping[str, Any]
    figures: Mapping[str, tuple[float | int | None, ...]]
    versions: Mapping[str, tuple[str | None, ...]]
    curves: Sequence[Curves]

    def content(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {
            "folders": list(self.folders),
            "settings": content_of(self.settings),
            "same": content_of(self.same),
            "figures": content_of(self.figures),
            "versions": content_of(self.versions),
            "accuracy": [vars(each) for each in self.curves],
        }


def difference(runs: Sequence[Whole]) -> Difference:
    """Return how runs differ from each other."""
    if len(runs) < 2:
        raise SettingsError("One run alone differs from nothing: name two runs or more.")
    for run in runs:
        if not isinstance(run, Whole):
            raise SettingsError(
                f"{shown(run)} is not a run that was read: name its folder to "
                "flexcfl.report.history.whole, and compare what that returns."
            )
    settings = _beside([run.row.settings for run in runs])
    differing = {name: each for name, each in settings.items() if not _alike(each)}
    versions = _beside([run.versions for run in runs if run.versions])
    figures = {name: tuple(run.row.figures[name] for run in runs) for name in FIGURES}
    return Difference(
        [str(run.row.folder) for run in runs],
        {name: _known(each) for name, each in differing.items()},
        {name: each[0] for name, each in settings.items() if name not in differing},
        {name: each for name, each in figures.items() if any(one is not None for one in each)},
        {
            name: tuple(run.versions.get(name) for run in runs)
            for name, each in versions.items()
            if not _alike(each)
        },
        [_curves(runs[0].accuracy, run.accuracy) for run in runs[1:]],
    )


def _beside(mappings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    names = list(dict.fromkeys(name for each in mappings for name in each))
    tables = list(dict.fromkeys(name.split(".")[0] for name in names))
    names.sort(key=lambda name: tables.index(name.split(".")[0]))  # one table stays together
    return {name: tuple(each.get(name, MISSING) for each in mappings) for name in names}


def _alike(values: Sequence[Any]) -> bool:
    # As texts too: a whole number is not written like one that is not, and NaN is NaN.
    return all(repr(value) == repr(values[0]) for value in values)


def _known(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(None if value is MISSING else value for value in values)


def _curves(one: NDArray[np.float64], other: NDArray[np.float64]) -> Curves:
    compared = min(len(one), len(other))
    apart = ~np.isclose(one[:compared], other[:compared], rtol=0, atol=0, equal_nan=True)
    where = np.flatnonzero(apart)
    return Curves(compared, int(where[0]) + 1 if len(where) else None)
