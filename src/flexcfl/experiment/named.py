"""Tables that name one thing of a kind and have its options beside the name.

``[drift] name = "label-share"`` names how clients notice drift, ``[aggregation]`` the rule by which
updates become a step, ``[attack]`` what hostile clients do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from flexcfl.aggregation import RULES
from flexcfl.algorithms import NoOptions
from flexcfl.errors import SettingsError, unknown
from flexcfl.experiment.experiment import NO_ATTACK, Choice
from flexcfl.extensions import Registry
from flexcfl.settings import validated
from flexcfl.shifts.detection import DETECTORS
from flexcfl.trust.faults import ATTACKS

__all__ = ["DETECTOR", "NAMED", "RULE", "Kind", "chosen", "option_names"]

DETECTOR, RULE = "label-share", "mean"


@dataclass(frozen=True)
class Kind:
    """What a table chooses among: ``options(entry)`` is the class of an entry's options.

    ``nothing`` is what says that none is chosen, where that is possible.
    """

    registry: Registry[Any]
    options: Callable[[Any], type[Any]]
    default: str
    nothing: str | None = None

    @property
    def ours(self) -> list[type[Any]]:
        """The options of those that come with flexcfl."""
        return [self.options(entry) for entry in self.registry.ours.values()]

    def options_of(self, name: str) -> type[Any]:
        """Return the options of the one of this name, or raise a ``SettingsError``."""
        if name == self.nothing:
            return NoOptions
        if name not in self.registry:
            known = [*filter(None, [self.nothing]), *self.registry]
            raise SettingsError(unknown(self.registry.noun, name, known))
        return self.options(self.registry[name])


NAMED: Mapping[str, Kind] = MappingProxyType(
    {
        "drift": Kind(DETECTORS, lambda entry: entry.detector, DETECTOR),
        "aggregation": Kind(RULES, lambda entry: entry.rule, RULE),
        "attack": Kind(ATTACKS, lambda entry: entry.attack, NO_ATTACK, nothing=NO_ATTACK),
    }
)


def chosen(where: str, table: Mapping[str, Any]) -> Choice:
    """Return what a table names, with its options, or raise a ``SettingsError``."""
    kind = NAMED[where]
    name = table.get("name", kind.default)
    if not isinstance(name, str):
        raise SettingsError(f"[{where}] name must be a text, not {name!r:.60}.")
    options = kind.options_of(name)
    keys = {key: value for key, value in table.items() if key != "name"}
    if name == kind.nothing and keys:
        raise SettingsError(
            f"[{where}] {next(iter(keys))} is set, but no {kind.registry.noun} is chosen: name "
            f"one, such as --set {where}.name={next(iter(kind.registry))}."
        )
    return Choice(name, validated(options, keys, f"[{where}]"))


def option_names(where: str, name: object) -> set[str]:
    """Return the names of the options of what a table names, if there is such a thing."""
    try:
        return {option.name for option in fields(NAMED[where].options_of(str(name)))}
    except SettingsError:  # which is told when it is to be used
        return set()
