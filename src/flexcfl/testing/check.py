"""A check of one promise, whose name is a sentence."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from flexcfl.errors import SettingsError
from flexcfl.settings import validated


@dataclasses.dataclass(frozen=True)
class Check:
    """A check of one promise: calling it raises ``AssertionError`` if the promise is broken."""

    name: str
    run: Callable[[], None] = dataclasses.field(repr=False)

    def __call__(self) -> None:
        """Run the check."""
        self.run()

    def __str__(self) -> str:
        return self.name


def bound(promises: Iterable[Callable[[Any], None]], subject: Any) -> list[Check]:
    """Return checks of promises on a subject, named by their functions as sentences."""

    def check(promise: Callable[[Any], None]) -> Check:
        return Check(promise.__name__.removeprefix("_").replace("_", " "), lambda: promise(subject))

    return [check(promise) for promise in promises]


def demand(kept: object, sentence: str) -> None:
    """Raise an ``AssertionError`` with this sentence unless the promise is kept."""
    if not kept:
        raise AssertionError(sentence)


def demand_summary(summary: str) -> None:
    """Demand that the summary of a registry's entry is a phrase."""
    phrase = 10 < len(summary) < 100 and not summary.endswith(".")
    demand(phrase, f"The summary must be a phrase without a full stop, not {summary!r}.")


def demand_options(kind: type[Any], table: str) -> None:
    """Demand that options have defaults, are explained and frozen, and refuse unknown names.

    Options are the fields of a class; ``table`` is their table in an experiment.
    """
    name = kind.__name__
    demand(dataclasses.is_dataclass(kind), f"{name} is no dataclass.")
    frozen = kind.__dict__["__dataclass_params__"].frozen
    demand(frozen, f"{name} is not frozen: write @dataclass(frozen=True).")
    demand(kind() == kind(), f"Two {name} with the same options are not equal.")
    docstrings = " ".join(str(parent.__doc__) for parent in kind.__mro__)
    for option in dataclasses.fields(kind):
        explained = f"``{option.name}``" in docstrings
        demand(explained, f"The docstring of {name} does not explain ``{option.name}``.")
    demand(validated(kind, {}, table) == kind(), f"An empty table is not the default of {name}.")
    try:
        validated(kind, {"no_such_option": 1}, table)
    except SettingsError:
        return
    raise AssertionError(f"{name} accepts an option that it does not have.")
