"""Runs as rows of settings and figures: conditions on them such as ``final>=0.9``, and their order.

Figures stand with the best first, and runs that do not have what is asked for stand last.
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
from flexcfl.experiment.choices import NAMED, NONE, spellings
from flexcfl.experiment.experiment import Tables
from flexcfl.experiment.options import OPTIONS
from flexcfl.record.folder import EXPERIMENT, SUMMARY
from flexcfl.record.lifecycle import State, state_of
from flexcfl.record.record import Record
from flexcfl.record.summary import FIGURES, Summary, figures_in
from flexcfl.record.tables import ROUNDS
from flexcfl.report.terminal.setting_rows import value_text
from flexcfl.settings import assignments, short_repr

__all__ = [
    *("RunRow", "keys_in", "newest_first", "as_json", "flat_settings", "sort_key", "checked_key"),
    *("matching_rows", "sorted_rows", "row_of"),
]

WHEN = "when"
FACTS = ("folder", "state", WHEN)
# Settings by the names of options, and tables that may stand for the name in them.
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
DESCENDING = "-"  # before a key: the other way round


@dataclass(frozen=True)
class RunRow:
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
        return {**self._facts(" "), **self.settings, **self.figures}

    def content(self) -> dict[str, Any]:
        """Return everything as JSON knows it: settings and figures apart, and the summary."""
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
    """Return the row of a run; ``known`` is its summary, or what takes its place."""
    state, settings = state_of(run.summary is not None, held), flat_settings(run.settings)
    return RunRow(run.path, state, _when(run.path), settings, figures_in(known), run.summary)


def _when(path: Path) -> datetime:
    """Return when a run was finished, or else when it last went on."""
    for name in (SUMMARY, ROUNDS, EXPERIMENT):
        with suppress(OSError):
            return datetime.fromtimestamp((path / name).lstat().st_mtime).astimezone()
    return datetime.fromtimestamp(0, UTC).astimezone()


def as_json(value: Any) -> Any:
    """Return a value from TOML as JSON knows it, which has no dates and no infinity."""
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
    """Return the name of a setting or a figure, or say which one may have been meant."""
    own = {name for row in rows for name in row.settings}
    known = {*FACTS, *FIGURES, *SHORT, *spellings(), *own}
    if key in known:
        return key
    near = nearest(key, known)
    hint = f"did you mean '{near}'?" if near else "'flexcfl runs --help' tells which there are."
    raise SettingsError(f"Runs have no setting and no figure '{key}': {hint}")


@dataclass(frozen=True)
class _Condition:
    """What a run must be like: ``text`` is the value as it was given, ``asked`` what it means."""

    key: str
    sign: str
    text: str
    asked: Any

    def holds(self, row: RunRow) -> bool:
        """Whether a run is so; what it does not have is ``none``, and neither more nor less."""
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
        if isinstance(value, list):  # shifts that act together are found by any of them
            return self.asked == value or self.text in map(value_text, value)
        same_kind = _numeric(self.asked) if _numeric(value) else type(self.asked) is type(value)
        return same_kind and bool(value == self.asked)


def matching_rows(rows: Iterable[RunRow], words: Iterable[str]) -> list[RunRow]:
    """Return the runs of which all conditions, words such as ``final>=0.9``, are true."""
    rows = list(rows)
    conditions = [_condition(word, rows) for word in words]
    return [row for row in rows if all(each.holds(row) for each in conditions)]


def keys_in(words: Iterable[str], sort: str | None) -> list[str]:
    """Return the keys that conditions and an order are about, by the names of their columns."""
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
    if key == WHEN:  # a day, or as much of a time as is given
        text = text.replace("T", " ")
    if key in FIGURES:
        asked = _figure(key, sign, text, asked)
    return _Condition(key, sign, text, asked)


def _figure(key: str, sign: str, text: str, asked: Any) -> Any:
    """Return what is asked of a figure, which may be in percent where it is shown so."""
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
    """Return runs with the newest first; those of one moment by their folders."""
    return sorted(rows, key=lambda row: (-row.when.timestamp(), str(row.folder)))


def sort_key(order: str) -> str:
    """Return the key of an order, which may have a dash before it."""
    return order.removeprefix(DESCENDING)


def sorted_rows(rows: Sequence[RunRow], key: str, reverse: bool = False) -> list[RunRow]:
    """Return runs by a key: figures with the best first, times with the newest, else ascending.

    With ``reverse``, or with ``-`` before the key, it is the other way round. Runs that have no
    such value stand last either way, and equal ones stay in the order in which they were.
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
    """Return what values of any kind are compared by: numbers, then words, then all else."""
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, value_text(value))
