"""What a caller brings along as objects, in place of what an experiment can only name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from flexcfl.algorithms import told
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.experiment.options import OPTIONS, SharedOptions
from flexcfl.shifts import Shift
from flexcfl.shifts.detection import Detector

if TYPE_CHECKING:
    from torch import nn

__all__ = ["NO_OBJECTS", "UserObjects", "user_objects"]


@dataclass(frozen=True)
class UserObjects:
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


NO_OBJECTS = UserObjects()


def user_objects(options: SharedOptions) -> tuple[UserObjects, dict[str, object]]:
    """Return the objects among options, and all options as an experiment names them."""
    dataset, model = options.get("dataset"), options.get("model")
    shift, drift = options.get("shift"), options.get("drift")
    federation = dataset if isinstance(dataset, Federation) else None
    factory = model if callable(model) else None
    shifts = shift if isinstance(shift, Mapping) else None
    detector = None if isinstance(drift, str) else drift
    given: dict[str, object] = {**options}
    algorithm = given.get("algorithm")
    if algorithm is not None and not isinstance(algorithm, str):
        name, chosen = told(algorithm)
        for each, option in OPTIONS.items():
            if option.setting in chosen and given.get(each) is not None:
                raise SettingsError(f"'{each}' is set twice: leave it out beside the algorithm.")
        given |= {"algorithm": name, **chosen}
    if federation is not None:
        given["dataset"] = federation.name
    if factory is not None:
        given["model"] = name_of(factory)
    if shifts is not None:
        given["shift"] = list(shifts)
    if detector is not None:
        given["drift"] = name_of(type(detector))
    return UserObjects(federation, factory, shifts, detector), given


def name_of(factory: "Callable[[], object]") -> str:
    """Return the name of a factory or a class in the form in which a TOML file could name it."""
    while isinstance(factory, partial):
        factory = factory.func
    name = getattr(factory, "__qualname__", type(factory).__qualname__)
    return f"{getattr(factory, '__module__', None) or 'python'}:{name}"
