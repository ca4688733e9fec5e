"""Runs as rows of settings and figures: filter them, such as by ``final>=0.9``, and sort them.

Figures are sorted with the best first. Runs without the value come last.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from flexcfl.errors import SettingsError, nearest
from flexcfl.experiment.choices import NAMED, NONE, setting_names
from flexcfl.experiment.experiment import Tables
from flexcfl.experiment.options import OPTIONS
from flexcfl.record.folder import EXPERIMENT, SUMMARY
from flexcfl.record.lifecycle import State, state_of
from flexcfl.record.record import Record
from flexcfl.record.summary import FIGURES, Summary, figures_in
from flexcfl.record.tables import ROUNDS
from flexcfl.report.terminal.setting_rows import value_text
from flexcfl.settings import assignments, short_repr

WHEN = "when"
FACTS = ("folder", "state", WHEN)
# Short names: options for their settings, and tables for the setting ``name`` in them.
SHORT: Mapping[str, str] = {
    **{table: f"{table}.name" for table in NAMED},
    **{name: option.setting for name, option in OPTIONS.items()},
}
CONDITION = re.compile(r"([^<>=!]+)(<=|>=|!=|==|=|<|>)(.*)", re.DOTALL)
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
PERCENT = "%"
DESCENDING = "-"  # before a key: reverse the order


@dataclass(frozen=True)
class RunRow:
    """A run in a list of runs.

    Attributes:
        folder: The folder of the run.
        state: ``finished``, ``running`` or ``interrupted``.
        when: The time at which it finished, or when it last wrote a round.
        settings: The settings by names such as ``run.seed``.
        figures: The figures by names such as ``final``, so far if the run is not finished; None if
            there is no value.
        summary: The content of ``summary.json``; None if the run is not finished.

    """

    folder: Path
    state: State
    when: datetime
    settings: Mapping[str, Any]
    figures: Mapping[str, float | int | None]
    summary: Summary | None = None

    def value(self, key: str) -> Any:
        """Return a setting or a figure by its name or short name, or None."""
        if key in FIGURES:
            return self.figures.get(key)
        if key in FACTS:
            return self.flat()[key]
        return self.settings.get(SHORT.get(key, key))

    def flat(self) -> dict[str, Any]:
        """Return all values in one flat dict, as a row of a table, for example for pandas."""
        return {**self._facts(" "), **self.settings, **self.figures}

    def content(self) -> dict[str, Any]:
        """Return everything as JSON values, with settings, figures and the summary separate."""
        return {
            **self._facts("T"),
            "settings": as_json(self.settings),
            "figures": dict(self.figures),
            "summary": self.summary,
        }

    def _facts(self, between: str) -> dict[str, str]:
        when = self.when.isoformat(between, "seconds")
        return {"folder": str(self.folder), "state": self.state, "when": when}


def row_of(run: Record, held: bool, known: Mapping[str, Any]) -> RunRow:
    """Return the row of a run; ``known`` is its summary, or the figures so far."""
    state, settings = state_of(run.summary is not None, held), flat_settings(run.settings)
    return RunRow(run.path, state, _when(run.path), settings, figures_in(known), run.summary)


def _when(path: Path) -> datetime:
    """Return when a run finished, or else when it last wrote a round."""
    for name in (SUMMARY, ROUNDS, EXPERIMENT):
        with suppress(OSError):
            return datetime.fromtimestamp((path / name).lstat().st_mtime).astimezone()
    return datetime.fromtimestamp(0, UTC).astimezone()


def as_json(value: Any) -> Any:
    """Return a value from TOML as a JSON value; JSON has no dates and no infinity."""
    if isinstance(value, Mapping):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


def flat_settings(tables: Tables) -> dict[str, Any]:
    """Return settings by names such as ``run.seed``."""
    return {
        f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()
    }


def checked_key(key: str, rows: Iterable[RunRow]) -> str:
    """Return a key that names a setting or a figure; an error suggests the closest name."""
    own = {name for row in rows for name in row.settings}
    known = {*FACTS, *FIGURES, *SHORT, *setting_names(), *own}
    if key in known:
        return key
    near = nearest(key, known)
    hint = f"did you mean '{near}'?" if near else "'flexcfl runs --help' lists them."
    raise SettingsError(f"Runs have no setting and no figure '{key}': {hint}")


@dataclass(frozen=True)
class _Condition:
    """A condition on a run: ``text`` is the given value, ``asked`` its parsed form."""

    key: str
    sign: str
    text: str
    asked: Any

    def holds(self, row: RunRow) -> bool:
        """Return whether a run meets it; a missing value equals ``none`` and has no order."""
        value = row.value(self.key)
        if self.sign in COMPARED:
            return self._compared(value)
        return self._equal(value) == (self.sign != "!=")

    def _compared(self, value: Any) -> bool:
        compare = COMPARED[self.sign]
        if isinstance(value, str):
            return compare(value, self.text)
        return _numeric(value) and _numeric(self.asked) and compare(value, self.asked)

    def _equal(self, value: Any) -> bool:
        if value is None or value == []:
            return self.text in (NONE, "[]")
        if value_text(value) == self.text or (self.key == WHEN and value.startswith(self.text)):
            return True
        if isinstance(value, list):  # combined shifts match by any of their names
            return self.asked == value or self.text in map(value_text, value)
        same_kind = _numeric(self.asked) if _numeric(value) else type(self.asked) is type(value)
        return same_kind and bool(value == self.asked)


def matching_rows(rows: Iterable[RunRow], words: Iterable[str]) -> list[RunRow]:
    """Return the runs that meet all conditions, such as ``final>=0.9``."""
    rows = list(rows)
    conditions = [_condition(word, rows) for word in words]
    return [row for row in rows if all(each.holds(row) for each in conditions)]


def keys_in(words: Iterable[str], sort: str | None) -> list[str]:
    """Return the column names of the keys in conditions and in a sort order."""
    keys = [parts[1].strip() for word in words if (parts := CONDITION.fullmatch(word))]
    keys += [sort_key(sort)] if sort else []
    short = {option.setting: name for name, option in OPTIONS.items()}
    return list(dict.fromkeys(short.get(key, key) for key in keys))


def _condition(word: str, rows: Sequence[RunRow]) -> _Condition:
    parts = CONDITION.fullmatch(word)
    if parts is None:
        raise SettingsError(
            f"{short_repr(word)} is not of the form KEY=VALUE, such as algorithm=flexcfl or "
            "final>=0.9."
        )
    key, sign, text = checked_key(parts[1].strip(), rows), parts[2], parts[3].strip()
    asked = assignments([f"{key}={text}"])[key]
    if key == WHEN:  # a day, or the beginning of a time
        text = text.replace("T", " ")
    if key in FIGURES:
        asked = _figure(key, sign, text, asked)
    return _Condition(key, sign, text, asked)


def _figure(key: str, sign: str, text: str, asked: Any) -> Any:
    """Return the value to compare a figure with; it may be in percent if the figure is a share."""
    share = FIGURES[key].share
    if share and text.endswith(PERCENT):
        number = assignments([f"{key}={text.removesuffix(PERCENT)}"])[key]
        asked = number / 100 if isinstance(number, int | float) else number
    if not _numeric(asked) and text != NONE:
        raise SettingsError(f"{key} is a number: compare it with one, such as {key}>=1.")
    if share and _numeric(asked) and not 0 <= asked <= 1:
        raise SettingsError(
            f"{key} is a share between 0 and 1: write {key}{sign}0.9 or {key}{sign}90%, "
            f"not {short_repr(text)}."
        )
    if sign in COMPARED and not _numeric(asked):
        raise SettingsError(f"{key}{sign} needs a number, not {short_repr(text)}.")
    return asked


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def newest_first(rows: Iterable[RunRow]) -> list[RunRow]:
    """Return runs with the newest first; runs of the same time are sorted by folder."""
    return sorted(rows, key=lambda row: (-row.when.timestamp(), str(row.folder)))


def sort_key(order: str) -> str:
    """Return the key of a sort order, which may begin with a dash."""
    return order.removeprefix(DESCENDING)


def sorted_rows(rows: Sequence[RunRow], key: str, reverse: bool = False) -> list[RunRow]:
    """Sort runs by a key: figures with the best first, times with the newest first, else ascending.

    ``reverse``, or ``-`` before the key, reverses the order. Runs without the value always come
    last, and equal runs keep their order.
    """
    other, name = key.startswith(DESCENDING), sort_key(key)
    best_high = name == WHEN or (name in FIGURES and FIGURES[name].high)
    having = [row for row in rows if _has(row.value(name))]
    lacking = [row for row in rows if not _has(row.value(name))]
    downward = best_high ^ other ^ reverse
    return [*sorted(having, key=lambda row: _rank(row.value(name)), reverse=downward), *lacking]


def _has(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and isnan(value))


def _rank(value: Any) -> tuple[int, Any]:
    """Return a sort key for values of any type: numbers, then strings, then everything else."""
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, value_text(value))
