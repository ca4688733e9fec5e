"""Classes and objects that Python code passes where an experiment has names.

An object that can be rebuilt from a name and options is saved as these. Any other object is kept,
and the caller passes it again to resume the run.
"""

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import tomli_w

from flexcfl.algorithms import name_and_settings
from flexcfl.data import DATASETS, Federation
from flexcfl.errors import SettingsError
from flexcfl.experiment.choices import KINDS, names
from flexcfl.experiment.experiment import plain_table
from flexcfl.experiment.options import OPTIONS
from flexcfl.extensions import RAISED, error_summary
from flexcfl.settings import validated
from flexcfl.shifts import Shift
from flexcfl.shifts.detection import Detector

if TYPE_CHECKING:
    from torch import nn

Named: TypeAlias = tuple[str, dict[str, Any]]  # a name, and its options
# The options that may be objects, and the name of the part that each object provides.
PARTS = {"dataset": "data", "model": "model", "shift": "shifts", "drift": "detector"}


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
        """The parts of a run that cannot be rebuilt from its settings alone."""
        held = (self.federation, self.factory, self.shifts or None, self.detector)
        return tuple(
            part for part, each in zip(PARTS.values(), held, strict=True) if each is not None
        )


def _has(object_: object, *methods: str) -> bool:
    """Whether this is an object, not a class, and has these methods."""
    found = [callable(getattr(object_, name, None)) for name in methods]
    return all(found) and not isinstance(object_, type)


NO_OBJECTS = UserObjects()


def user_objects(
    options: Mapping[str, Any], keep: Collection[str] = ()
) -> tuple[UserObjects, dict[str, Any]]:
    """Return the objects that settings cannot describe, and the options with names in their place.

    Parts in ``keep`` always stay objects.
    """
    given = dict(options)
    held: dict[str, Any] = {}
    for option, part in PARTS.items():
        value = given.get(option)
        if value is None or _is_name(option, value):
            continue
        settings = None if part in keep else _written_down(option, value)
        if settings is None:
            held[part], given[option] = _kept(option, value)
        else:
            _replace(given, option, settings)
    algorithm = given.get("algorithm")
    if algorithm is not None and not isinstance(algorithm, str):
        name, settings = name_and_settings(algorithm)
        _replace(given, "algorithm", {"algorithm.name": name, **settings})
    return UserObjects(*(held.get(part) for part in PARTS.values())), given


def _is_name(option: str, value: object) -> bool:
    """Whether an option is a name, or an invalid value that is refused later."""
    if option == "shift" and isinstance(value, list | tuple):
        return all(isinstance(each, str) for each in value)
    nothing = option in ("dataset", "model") and not isinstance(value, Federation)
    return isinstance(value, str) or (nothing and not (callable(value) or is_dataclass(value)))


def _replace(given: dict[str, Any], option: str, settings: Mapping[str, Any]) -> None:
    """Replace an option with the settings of its object."""
    for each, known in OPTIONS.items():
        if each != option and known.setting in settings and given.get(each) is not None:
            raise SettingsError(f"'{each}' is set twice: leave it out beside the {option}.")
    del given[option]
    given |= settings


def _written_down(option: str, value: Any) -> dict[str, Any] | None:
    """Return the settings that rebuild a class, a function or an object, or None."""
    table = OPTIONS[option].setting.partition(".")[0]
    listed = value if option == "shift" and isinstance(value, list | tuple) else [value]
    if isinstance(value, Federation | Mapping):  # a mapping has shifts under the caller's names
        return None
    found = [_named(table, each, alone=len(listed) == 1) for each in listed]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    together: dict[str, Any] = {}
    for _, its in known:  # an option applies to all shifts that have it
        if any(together.setdefault(key, own) != own for key, own in its.items()):
            return None
    several = [name for name, _ in known]
    name = several if option == "shift" else several[0]
    settings = {f"{table}.{key}": own for key, own in together.items() if own is not None}
    return {f"{table}.name": name, **settings}


def _named(table: str, given: Any, *, alone: bool) -> Named | None:
    """Return the name and the options that rebuild a class, a function or an object, or None.

    A class that is ``alone`` gets its options from other settings.
    """
    if isinstance(given, str):  # a name among objects, with options separate from theirs
        given = KINDS[table].options_of(given)
    is_object = is_dataclass(given) and not isinstance(given, type)
    kind = type(given) if is_object else given
    name = _name_of_ours(table, kind) or _path_of(kind)
    if name is None or (is_object and table == "model"):  # a model has no options
        return None
    if not is_object and (alone or not isinstance(kind, type)):
        return name, {}
    try:
        made = given if is_object else kind()
        options = plain_table(made)
        tomli_w.dumps(options)  # raises if TOML cannot hold them
        again = plain_table(validated(kind, options, ""))
    except RAISED:  # a class of the caller may raise any of these
        return None
    known = {each.name: None for each in fields(made)}
    return (name, known | options) if again == options else None


def _name_of_ours(table: str, kind: object) -> str | None:
    """Return the name of an option class that comes with flexcfl, or None."""
    ours = KINDS[table].ours if table in KINDS else {}
    return next((name for name, each in ours.items() if each is kind), None)


def _path_of(kind: object) -> str | None:
    """Return the path from which other processes can import a class or a function, or None."""
    module, name = getattr(kind, "__module__", None), getattr(kind, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    try:
        found = reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return None
    return f"{module}:{name}" if found is kind else None


def _kept(option: str, value: Any) -> tuple[Any, Any]:
    """Return the object of an option, and its name in the experiment."""
    if option == "dataset":
        federation = value if isinstance(value, Federation) else _loaded(value)
        return federation, federation.name
    if option == "model":
        return value, label_of(value)
    if option == "drift":
        return _instance(value), label_of(value)
    listed = value if isinstance(value, list | tuple) else [value]
    if isinstance(value, Mapping):
        shifts = dict(value)
    else:
        labels = [each if isinstance(each, str) else _label_of_shift(each) for each in listed]
        names(labels)  # raises if a shift is named twice
        kinds = [
            KINDS["shift"].options_of(each) if isinstance(each, str) else each for each in listed
        ]
        shifts = dict(zip(labels, map(_instance, kinds), strict=True))
    return shifts, list(shifts)


def _label_of_shift(shift: object) -> str:
    kind = shift if isinstance(shift, type) else type(shift)
    return _name_of_ours("shift", kind) or label_of(kind)


def _instance(given: Any) -> Any:
    """Return the object; if a class is given, make an object with its defaults."""
    if not isinstance(given, type):
        return given
    try:
        return given()
    except RAISED as error:
        raise SettingsError(
            f"{given.__name__} could not be made ({error_summary(error)}): give an object of it."
        ) from error


def _loaded(given: Any) -> Federation:
    """Return the federation that the caller's function, class or object makes."""
    try:
        dataset = DATASETS.make_entry(given)
    except TypeError as error:
        raise SettingsError(f"The dataset {error}") from None
    return dataset.load(_instance(dataset.options), None)


def label_of(given: Any) -> str:
    """Return the name of a factory, a class or an object in the form of an import path."""
    while isinstance(given, partial):
        given = given.func
    named = given if hasattr(given, "__qualname__") else type(given)
    return f"{getattr(named, '__module__', None) or 'python'}:{named.__qualname__}"
