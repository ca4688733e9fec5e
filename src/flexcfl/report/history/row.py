"""A run in a list of runs: what it is, how far it is, and what it reached."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any

from flexcfl.errors import SettingsError, nearest
from flexcfl.experiment.experiment import Tables
from flexcfl.experiment.layers import spellings
from flexcfl.experiment.named import NAMED
from flexcfl.experiment.options import OPTIONS
from flexcfl.record.figures import FIGURES
from flexcfl.record.state import State
from flexcfl.record.summary import Summary

__all__ = ["SHORT", "Row", "content_of", "flat_settings", "known_key"]


FACTS = ("folder", "state", "when")
# Settings by the names that options have, and tables that may stand for the name in them.
SHORT: Mapping[str, str] = {
    **{table: f"{table}.name" for table in NAMED},
    **{name: option.setting for name, option in OPTIONS.items()},
}


@dataclass(frozen=True)
class Row:
    """A run: ``settings`` by names such as ``run.seed``, ``figures`` by names such as ``final``.

    Figures are those so far of a run that is not finished, and None where there is none.
    ``when`` is when it was finished, or went on last. ``summary`` is its ``summary.json``.
    """

    folder: Path
    state: State
    when: datetime
    settings: Mapping[str, Any]
    figures: Mapping[str, float | int | None]
    summary: Summary | None = None

    def value(self, key: str) -> Any:
        """Return a setting or a figure by its name, or its short one; None where there is none."""
        if key in FIGURES:
            return self.figures.get(key)
        if key in FACTS:
            return self.flat()[key]
        return self.settings.get(SHORT.get(key, key))

    def flat(self) -> dict[str, Any]:
        """Return everything in one level, as a line of a table: one run, one column a name."""
        when = self.when.isoformat(sep=" ", timespec="seconds")
        facts = {"folder": str(self.folder), "state": self.state, "when": when}
        return {**facts, **self.settings, **self.figures}

    def content(self) -> dict[str, Any]:
        """Return everything as JSON knows it: settings and figures apart, and the summary."""
        return {
            "folder": str(self.folder),
            "state": self.state,
            "when": self.when.isoformat(timespec="seconds"),
            "settings": content_of(self.settings),
            "figures": dict(self.figures),
            "summary": self.summary,
        }


def content_of(value: Any) -> Any:
    """Return a value from TOML as JSON knows it, which has no dates and no infinity."""
    if isinstance(value, Mapping):
        return {key: content_of(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [content_of(each) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def flat_settings(tables: Tables) -> dict[str, Any]:
    """Return settings by names such as ``run.seed``."""
    return {
        f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()
    }


def known_key(key: str, rows: Iterable[Row]) -> str:
    """Return the name of a setting or a figure, or say which one may have been meant."""
    own = {name for row in rows for name in row.settings}
    known = {*FACTS, *FIGURES, *SHORT, *spellings(), *own}
    if key in known:
        return key
    near = nearest(key, known)
    hint = f"did you mean '{near}'?" if near else "'flexcfl runs --help' tells which there are."
    raise SettingsError(f"Runs have no setting and no figure '{key}': {hint}")
