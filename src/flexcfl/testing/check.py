"""One promise that can be kept or broken, as a value with a sentence for a name."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from flexcfl.errors import SettingsError
from flexcfl.settings import validated

__all__ = ["Check", "bound", "demand", "demand_options", "demand_summary"]


@dataclasses.dataclass(frozen=True)
class Check:
    """A promise of what is tested: calling it raises ``AssertionError`` if it is broken."""

    name: str
    run: Callable[[], None] = dataclasses.field(repr=False)

    def __call__(self) -> None:
        """Look whether the promise is kept."""
        self.run()

    def __str__(self) -> str:
        return self.name


def bound(promises: Iterable[Callable[[Any], None]], subject: Any) -> list[Check]:
    """Return promises on a subject, each with the name of its function as a sentence."""

    def check(promise: Callable[[Any], None]) -> Check:
        return Check(promise.__name__.removeprefix("_").replace("_", " "), lambda: promise(subject))

    return [check(promise) for promise in promises]


def demand(kept: object, sentence: str) -> None:
    """Raise an ``AssertionError`` that says what is wrong, unless the promise is kept."""
    if not kept:
        raise AssertionError(sentence)


def demand_summary(summary: str) -> None:
    """Demand that a registry's entry says what it is in a phrase."""
    phrase = 10 < len(summary) < 100 and not summary.endswith(".")
    demand(phrase, f"The summary must be a phrase without a full stop, not {summary!r}.")


def demand_options(kind: type[Any], table: str) -> None:
    """Demand that options have defaults, are explained, frozen, and refuse what they do not know.

    They are the fields of a class; ``table`` is the one of an experiment in which they stand.
    """
    name = kind.__name__
    demand(dataclasses.is_dataclass(kind), f"{name} is no dataclass.")
    frozen = kind.__dict__["__dataclass_params__"].frozen
    demand(frozen, f"{name} is not frozen: write @dataclass(frozen=True).")
    demand(kind() == kind(), f"Two {name} with the same options are not equal.")
    told = " ".join(str(parent.__doc__) for parent in kind.__mro__)
    for option in dataclasses.fields(kind):
        explained = f"``{option.name}``" in told
        demand(explained, f"The docstring of {name} does not explain ``{option.name}``.")
    demand(validated(kind, {}, table) == kind(), f"An empty table is not the default of {name}.")
    try:
        validated(kind, {"no_such_option": 1}, table)
    except SettingsError:
        return
    raise AssertionError(f"{name} takes an option that it does not have.")
