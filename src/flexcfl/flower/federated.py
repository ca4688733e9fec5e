"""A run whose clients are on the nodes of a Flower grid: what the runner needs to hold it."""

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from flexcfl.data.describe import UNKNOWN, LabelSkew
from flexcfl.data.federation import stand_in
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.own import Own
from flexcfl.flower.joining import Joining
from flexcfl.flower.network import Memory, Network
from flexcfl.flower.post import Post
from flexcfl.flower.records import Heading
from flexcfl.flower.roster import Roster
from flexcfl.flower.understanding import check_real
from flexcfl.record.places import LOGS, NODES
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.trust.privacy import PrivacyGuard

__all__ = ["Federated"]


@dataclass(eq=False)
class Federated:
    """Clients on the nodes of a grid; ``remark`` is told what a person should know."""

    grid: Grid
    remark: Callable[[str], None]
    post: Post = field(init=False)
    memory: type[Any] = Memory
    waiting: str = "Waiting for the nodes"
    beside: Collection[str] = (LOGS, NODES)
    _joining: Joining = field(init=False)
    _nodes: int = 0

    def __post_init__(self) -> None:
        self.post = Post(self.grid)
        self._joining = Joining(self.post, self.remark)

    def prepare(self, experiment: Experiment, own: Own) -> Prepared:
        """Wait for the nodes, and build a model and an algorithm that fit what they have."""
        check_real(experiment)
        settings, joining = experiment.network, self._joining
        if settings.clients and settings.shape and settings.classes:
            joining.like = (settings.clients, settings.shape, settings.classes)
        found = joining.wait(_heading(experiment), settings.nodes or 1, settings.patience)
        assert joining.like is not None  # as at least one node is there
        federation = stand_in(experiment.data.name, *joining.like)
        prepared = prepare(experiment, elsewhere=federation)
        run, planned = experiment.run, prepared.cohorts.arrival
        roster = Roster(run.seed, planned, run.cohort, run.cohorts)
        for node, hosts in found:
            roster.join(node, hosts.clients, 0)
        self._nodes = len(found)
        _check_offered(run.cohort, roster)
        return replace(prepared, cohorts=roster)

    def world(self, prepared: Prepared) -> Network:
        """Return the clients on the nodes at the start of a run."""
        roster = prepared.cohorts
        assert isinstance(roster, Roster)  # of ``prepare``
        experiment, clients = prepared.experiment, prepared.federation.clients
        privacy, heading = experiment.privacy, _heading(experiment)
        private = privacy.level != "none"
        privacy_guard = PrivacyGuard(privacy, clients, experiment.run.seed) if private else None
        settings = experiment.network
        world = (self.post, roster, self._joining, heading, settings, self.remark)
        return Network(*world, privacy_guard)

    def sizes(self, prepared: Prepared) -> str:
        """Return how many nodes there are: what they have only they know."""
        return f"{self._nodes:,} node{'' if self._nodes == 1 else 's'}"

    def labels(self, prepared: Prepared) -> LabelSkew:
        """Return nothing: which labels their clients have only the nodes know."""
        return UNKNOWN


def _heading(experiment: Experiment) -> Heading:
    """Return what stands above the orders of this process, in which every run has a new name."""
    run = replace(experiment.run, data=None, device="cpu")
    text = toml.written(replace(experiment, run=run))
    return Heading(secrets.token_hex(8), secrets.token_hex(8), 0, text, experiment.network.updates)


def _check_offered(cohort: int, roster: Roster) -> None:
    offered = int(np.count_nonzero(roster.present(0)))
    if cohort > offered:
        raise SettingsError(
            f"A cohort of {cohort} is larger than the {offered} clients that the nodes offer: "
            "start more nodes and wait for them (network.nodes), or lower --cohort."
        )
