"""Which runs are meant: conditions such as ``algorithm=flexcfl`` and ``final>=0.9``."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flexcfl.errors import SettingsError
from flexcfl.experiment.options import OPTIONS
from flexcfl.experiment.shifts import NONE
from flexcfl.record.figures import FIGURES
from flexcfl.report.history.order import key_of
from flexcfl.report.history.row import Row, known_key
from flexcfl.report.terminal.settings import plain
from flexcfl.settings import assignments, shown

__all__ = ["Condition", "asked_for", "chosen", "conditions"]

FORM = re.compile(r"([^<>=!]+)(<=|>=|!=|==|=|<|>)(.*)", re.DOTALL)
ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
PERCENT, WHEN = "%", "when"


@dataclass(frozen=True)
class Condition:
    """What a run must be like: ``text`` is the value as it was given, ``asked`` what it means."""

    key: str
    sign: str
    text: str
    asked: Any

    def holds(self, row: Row) -> bool:
        """Whether a run is so; what it does not have is ``none``, and neither more nor less."""
        value = row.value(self.key)
        if self.sign in ORDERS:
            return self._ordered(value)
        return self._equal(value) == (self.sign != "!=")

    def _ordered(self, value: Any) -> bool:
        if isinstance(value, str):
            return ORDERS[self.sign](value, self.text)
        return _numeric(value) and _numeric(self.asked) and ORDERS[self.sign](value, self.asked)

    def _equal(self, value: Any) -> bool:
        if value is None or value == []:
            return self.text in (NONE, "[]")
        if plain(value) == self.text or (self.key == WHEN and value.startswith(self.text)):
            return True
        if isinstance(value, list):  # shifts that act together are found by any of them
            return self.asked == value or self.text in map(plain, value)
        return type(self.asked) in _kinds(value) and bool(value == self.asked)


def conditions(words: Iterable[str], rows: Sequence[Row]) -> list[Condition]:
    """Return what words such as ``final>=0.9`` demand of these runs."""
    return [_condition(word, rows) for word in words]


def chosen(rows: Iterable[Row], demands: Sequence[Condition]) -> list[Row]:
    """Return the runs of which all is true."""
    return [row for row in rows if all(each.holds(row) for each in demands)]


def asked_for(words: Iterable[str], sort: str | None) -> list[str]:
    """Return the keys that conditions and an order are about, by the names of their columns."""
    keys = [parts[1].strip() for word in words if (parts := FORM.fullmatch(word))]
    keys += [key_of(sort)] if sort else []
    short = {option.setting: name for name, option in OPTIONS.items()}
    return list(dict.fromkeys(short.get(key, key) for key in keys))


def _condition(word: str, rows: Sequence[Row]) -> Condition:
    parts = FORM.fullmatch(word)
    if parts is None:
        raise SettingsError(
            f"{shown(word)} is not of the form KEY=VALUE, such as algorithm=flexcfl or final>=0.9."
        )
    key, sign, text = known_key(parts[1].strip(), rows), parts[2], parts[3].strip()
    asked = assignments([f"{key}={text}"])[key]
    if key == WHEN:  # a day, or as much of a time as is given
        text = text.replace("T", " ")
    if key in FIGURES:
        asked = _figure(key, sign, text, asked)
    return Condition(key, sign, text, asked)


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
            f"not {shown(text)}."
        )
    if sign in ORDERS and not _numeric(asked):
        raise SettingsError(f"{key}{sign} needs a number, not {shown(text)}.")
    return asked


def _numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kinds(value: Any) -> tuple[type[Any], ...]:
    """Return the types that may be the same as a value: no truth is a number."""
    return (int, float) if _numeric(value) else (type(value),)
