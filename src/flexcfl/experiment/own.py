"""What a caller brings along as objects, in place of what an experiment can only name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexcfl.data import Federation
from flexcfl.drift import Detector
from flexcfl.errors import SettingsError
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

    def __post_init__(self) -> None:
        if self.detector is not None and not _has(self.detector, "profiles", "drifted"):
            raise SettingsError(
                f"drift must be a name or an object with the methods profiles and drifted, not "
                f"{self.detector!r:.60}: see docs/drift.md."
            )
        for name, shift in (self.shifts or {}).items():
            if not _has(shift, "check", "apply") or not hasattr(shift, "variants"):
                raise SettingsError(
                    f"The shift '{name}' must be an object with the methods check and apply and "
                    f"the attribute variants, not {shift!r:.60}: see docs/shifts.md."
                )

    @property
    def parts(self) -> tuple[str, ...]:
        """What of a run cannot be had again from its settings alone."""
        brought = {
            "data": self.federation,
            "model": self.factory,
            "shifts": self.shifts or None,
            "detector": self.detector,
        }
        return tuple(name for name, object_ in brought.items() if object_ is not None)


def _has(object_: object, *methods: str) -> bool:
    """Whether an object, and not its class, has these methods."""
    found = [callable(getattr(object_, name, None)) for name in methods]
    return all(found) and not isinstance(object_, type)


NOTHING = Own()
