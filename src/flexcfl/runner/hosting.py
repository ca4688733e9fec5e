"""Where the clients of a run are: in this process, or elsewhere; and the one that comes alone."""

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

__all__ = ["SIMULATED", "HostedWorld", "Hosting", "simulation", "single_client"]


class HostedWorld(World, Protocol):
    """A world whose memory is kept in checkpoints.

    ``releases`` is how many updates left the client of which most did, where they want
    privacy.
    """

    @property
    def releases(self) -> int:
        """How many updates left the client of which most did."""
        ...

    def memory(self) -> Any:
        """Return all that is known after a round, which does not change with the world."""
        ...

    def recall(self, memory: Any) -> None:
        """Be as after the round of which this was remembered."""
        ...


class Hosting(Protocol):
    """Makes ready what a run needs, and its world.

    ``memory`` is the type of what the world keeps, ``waiting`` what is shown until all is ready,
    ``beside`` are folders that its processes may have in that of a run before this begins.
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
        """Return in words what is known of the clients' data."""
        ...

    def labels(self, prepared: Prepared) -> LabelSkew:
        """Return which labels the clients have before anything shifts, as far as is known."""
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
    """Return clients that are simulated; the noise of their privacy comes from a ``secret``.

    ``divergence`` is who ends a run whose training comes to nothing, if anybody. Without
    ``computes`` no order needs the model, which is then not made.
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
    """Return all that it takes to hold a round with the one client of a federation.

    Nothing happens to its data and it means well. So many ``clients`` the run has, on which depends
    how private it is. ``model`` takes the place of the model that the experiment names.
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
