"""The settings of a federation whose clients are on a network: ``[network]`` of an experiment."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.errors import SettingsError

__all__ = ["Network"]

Size = Annotated[int, Field(ge=1, le=10**9)]


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Network:
    """Who is waited for, how long, and what of the federation the server cannot see for itself.

    The first round begins when ``nodes`` of them are there, for which is waited ``patience``
    seconds. Whoever has not answered an order after ``time_limit`` seconds is left out for the
    rest of the round. ``updates`` says how they travel; models always do as float32.

    Where nodes bring files of their own, ``clients`` is for how many there is room, those that come
    later among them, ``shape`` what one example is like, and ``classes`` how many labels there are;
    without these three, nodes have parts of the dataset that the experiment names.
    """

    nodes: Annotated[int, Field(ge=1, le=10**6)] | None = None
    patience: Annotated[float, Field(gt=0, le=10**9)] = 300.0
    time_limit: Annotated[float, Field(gt=0, le=10**9)] = 600.0
    updates: Literal["float32", "float16"] = "float32"
    clients: Size | None = None
    shape: tuple[Size, ...] | None = None
    classes: Size | None = None

    def __post_init__(self) -> None:
        own = {"clients": self.clients, "shape": self.shape, "classes": self.classes}
        missing = [name for name, value in own.items() if value is None]
        if missing and len(missing) < len(own):
            raise SettingsError(
                f"[network] {missing[0]} is missing: a federation of the nodes' own files needs "
                "clients, shape and classes, and one of a known dataset none of them."
            )

    @property
    def own_files(self) -> bool:
        """Whether nodes bring files of their own."""
        return self.clients is not None
