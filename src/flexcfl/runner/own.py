"""What a caller brings along as objects, in place of what an experiment can only name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexcfl.data import Federation
from flexcfl.drift import Detector
from flexcfl.shifts import Shift

if TYPE_CHECKING:
    from torch import nn

__all__ = ["NOTHING", "Own"]


@dataclass(frozen=True)
class Own:
    """A federation, a function that returns a model, shifts by name, a detector of drift."""

    federation: Federation | None = None
    factory: "Callable[[], nn.Module] | None" = None
    shifts: Mapping[str, Shift] | None = None
    detector: Detector | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """What of a run cannot be had again from its settings alone."""
        brought = {
            "data": self.federation,
            "model": self.factory,
            "shifts": self.shifts,
            "detector": self.detector,
        }
        return tuple(name for name, object_ in brought.items() if object_ is not None)


NOTHING = Own()
