"""The building blocks of the options of algorithms."""

from dataclasses import MISSING, fields
from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Local

FORBID = ConfigDict(extra="forbid")

Count: TypeAlias = Annotated[int, Field(ge=1, le=10**9)]
Groups: TypeAlias = Annotated[int, Field(ge=1, le=10**4)]


@settings(frozen=True, config=FORBID)
class NoOptions:
    """The options of an algorithm that has none."""


class WithOptions:
    """A base for algorithms that take their options as one value or by name: ``FlexCFL(groups=4)``.

    A subclass is a frozen dataclass with the fields ``local`` and ``options``. Without ``local``,
    clients train by the defaults, or by the settings of the run that uses the algorithm.
    """

    def __init__(self, local: Local | None = None, options: Any = None, **others: Any) -> None:
        own = {each.name: each for each in fields(self)}  # type: ignore[arg-type]
        named = {name: others.pop(name) for name in list(others) if name not in own}
        if options is not None and named:
            raise TypeError(f"options are given, and {', '.join(named)} as well: leave one out")
        kind: Any = own["options"].default_factory
        values = {"local": local or Local(), "options": options or kind(**named), **others}
        for name, each in own.items():
            value = values.get(name, each.default)
            if value is MISSING:
                raise TypeError(f"{type(self).__name__} needs '{name}'")
            object.__setattr__(self, name, value)
