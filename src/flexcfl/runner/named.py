"""Tables that name one thing of a kind and have its options beside the name.

``[drift] name = "label-share"`` names how clients notice drift, ``[aggregation]`` the rule by which
updates become a step, ``[attack]`` what hostile clients do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from flexcfl.aggregation import RULES
from flexcfl.algorithms import NoOptions
from flexcfl.drift import DETECTORS
from flexcfl.errors import SettingsError, unknown
from flexcfl.faults import ATTACKS
from flexcfl.runner.experiment import NO_ATTACK, Choice
from flexcfl.settings import validated

__all__ = ["DETECTOR", "NAMED", "RULE", "Kind", "chosen", "option_names"]

DETECTOR, RULE = "label-share", "mean"


@dataclass(frozen=True)
class Kind:
    """What a table chooses among: what one of them is called, and the options of each by name."""

    noun: str
    options: Mapping[str, type[Any]]
    default: str


NAMED: Mapping[str, Kind] = MappingProxyType(
    {
        "drift": Kind(
            "detector", {name: each.detector for name, each in DETECTORS.items()}, DETECTOR
        ),
        "aggregation": Kind("rule", {name: each.rule for name, each in RULES.items()}, RULE),
        "attack": Kind(
            "attack",
            {NO_ATTACK: NoOptions} | {name: each.attack for name, each in ATTACKS.items()},
            NO_ATTACK,
        ),
    }
)


def chosen(where: str, table: Mapping[str, Any]) -> Choice:
    """Return what a table names, with its options, or raise a ``SettingsError``."""
    kind = NAMED[where]
    name = table.get("name", kind.default)
    if not isinstance(name, str):
        raise SettingsError(f"[{where}] name must be a text, not {name!r:.60}.")
    if name not in kind.options:
        raise SettingsError(unknown(kind.noun, name, kind.options))
    keys = {key: value for key, value in table.items() if key != "name"}
    if name == NO_ATTACK and keys:
        example = next(each for each in kind.options if each != NO_ATTACK)
        raise SettingsError(
            f"[{where}] {next(iter(keys))} is set, but no {kind.noun} is chosen: name one, such as "
            f"--set {where}.name={example}."
        )
    return Choice(name, validated(kind.options[name], keys, f"[{where}]"))


def option_names(where: str, name: object) -> set[str]:
    """Return the names of the options of what a table names, if there is such a thing."""
    options = NAMED[where].options.get(str(name))
    return {option.name for option in fields(options)} if options else set()
