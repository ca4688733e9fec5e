"""Validation of settings from a file, a command line or Python.

Settings are frozen pydantic dataclasses; this module turns pydantic's errors into one sentence. A
``ValueError`` raised in ``__post_init__`` must start with the name of the setting and end with a
full stop.
"""

import dataclasses
import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pydantic import TypeAdapter, ValidationError

from flexcfl.errors import SettingsError, nearest
from flexcfl.synonyms import absent

__all__ = ["assignments", "excess", "keywords", "seconds_of", "short_repr", "validated"]

SettingsT = TypeVar("SettingsT")
P = ParamSpec("P")
R = TypeVar("R")

TIME = re.compile(r"(?:(\d{1,5})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s)?", re.ASCII)
LONGEST = 10**8  # seconds: three years
DEEPEST = 32  # nested lists and tables; no setting has more than three
UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
WANTED = {
    "bool": "true or false",
    "dataclass": "a table",
    "dict": "a table",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "path": "a path",
    "string": "a text",
    "tuple": "a list",
}


def validated(type_: type[SettingsT], table: Mapping[str, object], where: str) -> SettingsT:
    """Return the settings of a table, or raise a ``SettingsError`` of one sentence.

    The sentence starts with ``where``: "[local]" for a table of a file, "mnist" for a dataset.

    >>> from flexcfl.protocol import Local
    >>> validated(Local, {"rate": -1}, "[local]")
    Traceback (most recent call last):
        ...
    flexcfl.errors.SettingsError: [local] rate must be greater than 0, not -1.
    """
    try:
        settings = TypeAdapter(type_).validate_python(table)
    except ValidationError as error:
        raise SettingsError(_sentence(type_, error, where)) from None
    for name in table:  # pydantic ignores unknown names for a plain dataclass, such as a user's
        if not hasattr(settings, name):
            raise SettingsError(f"{where} has no setting '{name}'{_nearest(name, type_)}")
    for name, value in table.items():
        # pydantic reads true as the number 1, which is never intended.
        if isinstance(value, bool) and not isinstance(getattr(settings, name), bool):
            raise SettingsError(f"{where} {name} must not be {str(value).lower()}: give a value.")
    return settings


def assignments(pairs: Iterable[str], example: str = "clients=20") -> dict[str, object]:
    """Return the table that ``KEY=VALUE`` arguments describe; values are TOML or plain text.

    ``example`` is a valid argument, for the error message.

    >>> assignments(["clients=20", "partition=iid", "shape=[1, 28, 28]"])
    {'clients': 20, 'partition': 'iid', 'shape': [1, 28, 28]}
    """
    table: dict[str, object] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not (key.strip() and equals):
            raise SettingsError(
                f"{short_repr(pair)} is not of the form KEY=VALUE, such as {example}."
            )
        if key.strip() in table:
            raise SettingsError(f"{short_repr(key.strip())} is set twice: set it once.")
        table[key.strip()] = _value(text.strip())
    return table


def seconds_of(text: str) -> float:
    """Return the number of seconds in a time such as ``2h30m``.

    >>> seconds_of("2h30m"), seconds_of("90s")
    (9000.0, 90.0)
    """
    found = TIME.fullmatch(text.strip())
    hours, minutes, seconds = (float(each or 0) for each in found.groups()) if found else (0, 0, 0)
    total = 3600 * hours + 60 * minutes + seconds
    if not 0 < total < LONGEST:
        raise SettingsError(
            f"{short_repr(text)} is no time to work: say it such as 150m, 2h30m or 90s."
        )
    return total


def keywords(
    others: Callable[[], Mapping[str, str]] = dict,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function reject an unknown keyword argument with a suggestion.

    ``others`` returns names that can be set in another way, and how.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = inspect.signature(function).parameters

        @wraps(function)
        def checked(*arguments: P.args, **words: P.kwargs) -> R:
            for name in words:
                if name not in own:
                    raise SettingsError(_no_argument(function.__name__, name, own, others()))
            return function(*arguments, **words)

        return checked

    return decorate


def _no_argument(function: str, name: str, own: Iterable[str], others: Mapping[str, str]) -> str:
    known = {**others, **{each: f"'{each}'" for each in own}}
    near = nearest(name, known)
    if near is not None:
        return f"{function}() has no argument '{name}': did you mean {known[near]}?"
    why = absent(name) or f"it has {', '.join(own)}"
    return f"{function}() has no argument '{name}': {why}."


def excess(value: object) -> str | None:
    """Return what is too large or too deep in a value from TOML, or None.

    Python's parser accepts numbers and nesting that cannot be written again. The value is searched
    level by level, because recursion would fail on deep nesting.

    >>> excess({"seed": 2**64})
    'a whole number of more than 64 bits'
    """
    level = [value]
    for _ in range(DEEPEST):
        if any(isinstance(each, int) and not -(2**63) <= each < 2**63 for each in level):
            return "a whole number of more than 64 bits"
        level = [inner for each in level for inner in _inside(each)]
    return f"lists or tables more than {DEEPEST} deep within each other" if level else None


def short_repr(value: object) -> str:
    """Return the ``repr`` of a value on one line, shortened, for use within a sentence.

    >>> short_repr("it is well"), short_repr(2**20000)
    ("'it is well'", 'a number of thousands of digits')
    """
    try:
        text = repr(value)
    except ValueError:  # a whole number with more digits than Python converts
        return "a number of thousands of digits"
    except RecursionError:
        return "something nested without end"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _value(text: str) -> object:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # no TOML, or numbers too large or nesting too deep
        return text
    if excess(parsed):
        return text
    # A text with line breaks could add further keys; then it is not a TOML value.
    return parsed["value"] if len(parsed) == 1 else text


def _sentence(type_: type[Any], error: ValidationError, where: str) -> str:
    """Describe the first error; an unknown name comes first, as it often explains the others."""
    findings = error.errors(include_url=False)
    finding = min(findings, key=lambda each: each["type"] not in UNKNOWN)
    name = short_repr(".".join(str(part) for part in finding["loc"])).strip("'\"")
    choices = _choices(findings)
    if choices:
        demands = " or ".join(dict.fromkeys(map(_demand, choices)))
        name, given = choices[0]["loc"][0], choices[0]["input"]
        return f"{where} {name} must be {demands}, not {short_repr(given)}."
    if finding["type"] in UNKNOWN:
        return f"{where} has no setting '{name}'{_nearest(name, type_)}"
    if finding["type"] == "missing":
        return f"{where} needs the setting '{name}', which has no default."
    if finding["type"] == "value_error" and not name:
        return f"{where} {finding['ctx']['error']}"
    if not name and isinstance(finding["input"], str):  # a name that is not a string
        return f"{where} has no setting {short_repr(finding['input'])}{_nearest('', type_)}"
    if not name:
        return f"{where} must be a table of settings, not {short_repr(finding['input'])}."
    return f"{where} {name} must be {_demand(finding)}, not {short_repr(finding['input'])}."


def _choices(findings: Sequence[Any]) -> list[Any]:
    """Return the errors of a setting of several types, one error for each type."""
    name = findings[0]["loc"][:1]
    same = [each for each in findings if len(each["loc"]) == 2 and each["loc"][:1] == name]
    return same if len(same) == len(findings) > 1 else []


def _demand(finding: Mapping[str, Any]) -> str:
    if finding["type"] == "string_unicode":  # bytes on a command line that are not UTF-8
        return "UTF-8 text"
    wanted = WANTED.get(finding["type"].split("_")[0])
    return wanted or str(finding["msg"]).removeprefix("Input should be ")


def _nearest(name: str, type_: type[Any]) -> str:
    known = [field.name for field in dataclasses.fields(type_)]
    near = nearest(name, known)
    why = f"{absent(name)}; " if absent(name) else ""
    return f": did you mean '{near}'?" if near else f": {why}it has {', '.join(known) or 'none'}."
