"""An experiment: the complete settings of a run, as tables of frozen values."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl.algorithms import ALGORITHMS
from flexcfl.errors import SettingsError
from flexcfl.experiment.arrivals import Arrivals
from flexcfl.protocol import Local
from flexcfl.protocol.cohorts import Policy
from flexcfl.shifts import Shift
from flexcfl.trust.faults import Attack, Faults
from flexcfl.trust.guards import Guards
from flexcfl.trust.privacy import Privacy

Tables: TypeAlias = dict[str, dict[str, Any]]

NO_ATTACK = "none"

Positive = Annotated[int, Field(ge=1, le=10**9)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]  # the range that TOML guarantees


@dataclasses.dataclass(frozen=True)
class DataSettings:
    """A dataset by name, with its own options and the later arrivals of clients."""

    name: str
    options: Any
    arrivals: Arrivals = ()


@dataclasses.dataclass(frozen=True)
class NamedOptions:
    """An algorithm, a detector of drift, a rule or an attack by name, with its own options."""

    name: str
    options: Any


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class ModelSettings:
    """The network: ``mclr``, ``mlp``, ``cnn``, or your own as ``package.module:factory``."""

    name: str


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class RunSettings:
    """The length of the run, the cohorts, the evaluation, the device and the checkpoints.

    With ``evaluate_clients``, models are evaluated on a sample of that many clients instead of on
    all. The sample is drawn once from the seed, among all clients. ``data`` is the folder that is
    searched first for the files of a dataset. A checkpoint is made after ``checkpoint_rounds``
    rounds or ``checkpoint_seconds`` seconds, whichever comes first; 0 turns either off. Checkpoints
    by rounds are postponed while they would take more than ``checkpoint_share`` of a processor's
    time; with 1 they are never postponed.
    """

    rounds: Positive = 300
    cohort: Positive = 20
    cohorts: Policy = "uniform"
    seed: Seed = 0
    evaluate_every: Positive = 1
    evaluate_clients: Positive | None = None
    device: str = "cpu"
    data: Path | None = None
    checkpoint_rounds: Annotated[int, Field(ge=0, le=10**9)] = 10
    checkpoint_seconds: Annotated[float, Field(ge=0, le=10**9)] = 60.0
    checkpoint_share: Annotated[float, Field(gt=0, le=1)] = 0.02


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class NetworkSettings:
    """How many nodes the server waits for, for how long, and what it cannot know about their data.

    The first round begins when ``nodes`` nodes are connected; the server waits ``patience`` seconds
    for them. A node that has not answered an order after ``time_limit`` seconds is left out for the
    rest of the round. ``updates`` is the type in which updates are sent; models are always float32.

    If nodes bring their own files, ``clients`` is the largest number of clients, including those
    that come later, ``shape`` the shape of one example, and ``classes`` the number of labels.
    Without these three, each node has a part of the experiment's dataset.
    """

    nodes: Annotated[int, Field(ge=1, le=10**6)] | None = None
    patience: Annotated[float, Field(gt=0, le=10**9)] = 300.0
    time_limit: Annotated[float, Field(gt=0, le=10**9)] = 600.0
    updates: Literal["float32", "float16"] = "float32"
    clients: Positive | None = None
    shape: tuple[Positive, ...] | None = None
    classes: Positive | None = None

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
        """Whether nodes bring their own files."""
        return self.clients is not None


# The tables with one fixed class of settings. Any other table names an entry and sets its options.
PLAIN = MappingProxyType(
    {
        "model": ModelSettings,
        "local": Local,
        "guards": Guards,
        "faults": Faults,
        "privacy": Privacy,
        "network": NetworkSettings,
        "run": RunSettings,
    }
)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """The settings of a run, with one attribute per table; shifts act in their order."""

    data: DataSettings
    model: ModelSettings
    algorithm: NamedOptions
    local: Local
    shift: Mapping[str, Shift]
    drift: NamedOptions
    aggregation: NamedOptions
    guards: Guards
    faults: Faults
    attack: NamedOptions
    privacy: Privacy
    network: NetworkSettings
    run: RunSettings

    @property
    def migrates(self) -> bool:
        """Whether clients are asked if their data have drifted."""
        return ALGORITHMS[self.algorithm.name].migrates

    @property
    def attackers(self) -> Attack | None:
        """The attack of the hostile clients, or None if there are none."""
        return None if self.attack.name == NO_ATTACK else self.attack.options

    def tables(self) -> Tables:
        """Return all settings as plain values that TOML can hold, without those that are None."""
        tables = {
            item.name: plain_table(getattr(self, item.name)) for item in dataclasses.fields(self)
        }
        if self.local.steps is not None:  # steps replace epochs
            del tables["local"]["epochs"]
        idle = {
            "drift": not self.migrates,  # no client is asked
            "faults": self.faults == Faults(),
            "attack": self.attack.name == NO_ATTACK,
            "privacy": self.privacy.level == "none",
            "network": self.network == NetworkSettings(),
        }
        return {name: table for name, table in tables.items() if not idle.get(name)}


def plain_table(part: Any) -> dict[str, Any]:
    """Return one table of an experiment as plain values that TOML can hold."""
    if isinstance(part, Mapping):
        options = [plain_table(shift) for shift in part.values()]
        return {"name": list(part), **{key: own[key] for own in options for key in own}}
    if isinstance(part, DataSettings):
        arrivals = {"arrivals": _plain(part.arrivals)} if part.arrivals else {}
        return {**plain_table(NamedOptions(part.name, part.options)), **arrivals}
    if isinstance(part, NamedOptions):
        return {"name": part.name, **plain_table(part.options)}
    if not dataclasses.is_dataclass(part):  # a custom detector
        return {}
    values = {item.name: getattr(part, item.name) for item in dataclasses.fields(part)}
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value
