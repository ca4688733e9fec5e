"""Where the clients of a run are, in this process or elsewhere, and runs with a single client."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from flexcfl.algorithms import NoOptions
from flexcfl.data import Federation
from flexcfl.data.describe import LabelSkew, label_skew
from flexcfl.experiment.experiment import (
    NO_ATTACK,
    DataSettings,
    Experiment,
    ModelSettings,
    NamedOptions,
)
from flexcfl.experiment.objects import UserObjects
from flexcfl.runner.loop import World
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.shifts.detection import Watch
from flexcfl.simulation import Divergence, Memory, Simulation
from flexcfl.trust.faults import Behaviour, Faults
from flexcfl.trust.privacy import PrivacyGuard

if TYPE_CHECKING:
    from torch import nn


class HostedWorld(World, Protocol):
    """A world whose memory is kept in checkpoints."""

    @property
    def releases(self) -> int:
        """Largest number of updates that any one client released, if privacy is on."""
        ...

    def memory(self) -> Any:
        """Return a snapshot of the world after a round, which later rounds do not change."""
        ...

    def recall(self, memory: Any) -> None:
        """Restore the world from a snapshot."""
        ...


class Hosting(Protocol):
    """Prepares a run and its world.

    ``memory`` is the type of the world's snapshots. ``waiting`` is shown until everything is ready.
    ``beside`` names subfolders that its processes may create in a run's folder before the run
    begins.
    """

    memory: type[Any]
    waiting: str
    beside: Collection[str]

    def prepare(self, experiment: Experiment, own: UserObjects) -> Prepared:
        """Return the experiment with its clients, its model and its algorithm."""
        ...

    def world(self, prepared: Prepared) -> HostedWorld:
        """Return the world at the start of a run."""
        ...

    def sizes(self, prepared: Prepared) -> str:
        """Return a description of the clients' data."""
        ...

    def labels(self, prepared: Prepared) -> LabelSkew:
        """Return the clients' labels before any shift, as far as they are known."""
        ...


class _Simulated:
    """All clients are in this process."""

    memory = Memory
    waiting = "Loading the data and the model"
    beside: Collection[str] = ()

    def prepare(self, experiment: Experiment, own: UserObjects) -> Prepared:
        return prepare(experiment, own)

    def world(self, prepared: Prepared) -> Simulation:
        return simulation(prepared, prepared.experiment.run.seed, Divergence())

    def sizes(self, prepared: Prepared) -> str:
        federation = prepared.federation
        train, test = int(federation.train.sizes.sum()), int(federation.test.sizes.sum())
        return f"{train:,} training and {test:,} test examples"

    def labels(self, prepared: Prepared) -> LabelSkew:
        return label_skew(prepared.federation)


SIMULATED = _Simulated()


def simulation(
    prepared: Prepared, secret: int, divergence: Divergence | None = None, *, computes: bool = True
) -> Simulation:
    """Return simulated clients, whose privacy noise is seeded with ``secret``.

    ``divergence``, if given, ends a run whose training diverges. If ``computes`` is False, no order
    needs the model, and it is not built.
    """
    experiment = prepared.experiment
    clients, privacy = prepared.federation.clients, experiment.privacy
    return Simulation(
        prepared.engine if computes else None,
        prepared.timeline,
        experiment.run.seed,
        watch=Watch(experiment.drift.options, clients) if experiment.migrates else None,
        behaviour=_behaviour(prepared),
        privacy_guard=PrivacyGuard(privacy, clients, secret) if privacy.level != "none" else None,
        divergence=divergence,
        false_labels=prepared.false_labels if computes else None,
    )


def _behaviour(prepared: Prepared) -> Behaviour | None:
    experiment = prepared.experiment
    if experiment.attackers is None and experiment.faults == Faults():
        return None
    seed, faults = experiment.run.seed, experiment.faults
    return Behaviour(faults, experiment.attackers, prepared.roles, seed)


def single_client(
    experiment: Experiment,
    federation: Federation,
    clients: int,
    model: "str | Callable[[], nn.Module] | None" = None,
    seed: int | None = None,
) -> Prepared:
    """Prepare a round for a federation with a single client.

    The client's data do not change, and it does not attack. ``clients`` is the number of clients
    in the run, because its privacy depends on it. ``model`` replaces the experiment's model.
    """
    run, privacy = experiment.run, experiment.privacy
    if privacy.level != "none":
        privacy = replace(privacy, delta=privacy.delta_for(clients))
    single = replace(
        experiment,
        data=DataSettings(federation.name, NoOptions()),
        model=ModelSettings(model) if isinstance(model, str) else experiment.model,
        shift={},
        faults=Faults(),
        attack=NamedOptions(NO_ATTACK, None),
        privacy=privacy,
        run=replace(
            run,
            cohort=1,
            evaluate_clients=None,
            device="cpu",
            seed=run.seed if seed is None else seed,
        ),
    )
    return prepare(single, UserObjects(federation, None if isinstance(model, str) else model))
