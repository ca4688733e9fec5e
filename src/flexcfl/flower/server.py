"""The ``ServerApp``: the loop of the runner, with clients on the nodes of a Flower grid."""

import secrets
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from rich.console import Console

from flexcfl.data.describe import UNKNOWN, LabelSkew
from flexcfl.data.federation import placeholder_federation
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import SettingsLayer, options_layer
from flexcfl.experiment.objects import UserObjects
from flexcfl.flower import EVERY_ROUND
from flexcfl.flower.channel import MessageChannel
from flexcfl.flower.messages import OrderHeading
from flexcfl.flower.network import FlowerNetwork, ServerMemory
from flexcfl.flower.nodes import NodeDiscovery, Roster
from flexcfl.flower.own_data import check_not_simulated, stand_in_objects
from flexcfl.flower.pipe import reporting
from flexcfl.record.folder import EXPERIMENT
from flexcfl.record.run_folders import LOGS, NODES
from flexcfl.runner import console_run
from flexcfl.runner.callbacks import Callback, remark
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.runner.result import Run
from flexcfl.runner.tracking import trackers
from flexcfl.settings import assignments
from flexcfl.trust.privacy import PrivacyGuard

app = ServerApp()


@app.main()
def _main(grid: Grid, context: Context) -> None:
    with reporting() as callbacks:
        serve(grid, context.run_config, Console(), callbacks)


def serve(
    grid: Grid, config: Mapping[str, Any], console: Console, callbacks: Iterable[Callback] = ()
) -> Run:
    """Run the experiment that the app's configuration describes, and show it on a console.

    The configuration (``flwr run --run-config``) has these settings:

    - ``experiment``: TOML, or the path of a TOML file on this machine;
    - ``set``: assignments such as ``run.rounds=5 local.rate=0.1``;
    - ``out``: the folder of the run;
    - ``resume``: whether to resume the run in that folder;
    - ``track``: the names of trackers, separated by commas.

    Args:
        grid: The Flower grid whose nodes host the clients.
        config: The configuration of the app.
        console: The console that shows the run.
        callbacks: Called with each round.

    Returns:
        The finished run.

    """
    hosting, out = FlowerHosting(grid, remark), str(config.get("out", ""))
    callbacks = [*callbacks, *trackers([str(config.get("track", ""))])]
    if config.get("resume"):
        if not out:
            raise SettingsError("There is no run to resume: name the folder of a run as out.")
        own = stand_in_objects([SettingsLayer("file", toml.read(Path(out) / EXPERIMENT))])
        return console_run.resume_experiment(
            Path(out), console, own=own, hosting=hosting, callbacks=callbacks
        )
    file, layers = _named_settings(str(config.get("experiment", "")))
    layers += [
        options_layer({}, assignments(shlex.split(str(config.get("set", ""))))),
        SettingsLayer("network", EVERY_ROUND),
    ]
    return console_run.run_experiment(
        layers,
        console,
        folder=Path(out) if out else "new",
        file=file,
        own=stand_in_objects(layers),
        hosting=hosting,
        callbacks=callbacks,
    )


def _named_settings(text: str) -> tuple[Path | None, list[SettingsLayer]]:
    """Return the settings in TOML, or those in a TOML file with the path of that file."""
    if not text:
        return None, []
    if "\n" in text or ("=" in text and not Path(text).is_file()):
        return None, [SettingsLayer("file", toml.parsed(text.encode(), "of the run"))]
    return Path(text), [SettingsLayer("file", toml.read(Path(text)))]


@dataclass(eq=False)
class FlowerHosting:
    """Hosts the clients of a run on the nodes of a grid.

    Attributes:
        grid: The Flower grid.
        remark: Called with each sentence that the user should read.

    """

    grid: Grid
    remark: Callable[[str], None]
    memory: type[Any] = ServerMemory
    waiting: str = "Waiting for the nodes"
    beside: Collection[str] = (LOGS, NODES)
    _discovery: NodeDiscovery = field(init=False)
    _nodes: int = 0

    def __post_init__(self) -> None:
        self._discovery = NodeDiscovery(MessageChannel(self.grid), self.remark)

    def prepare(self, experiment: Experiment, own: UserObjects) -> Prepared:
        """Wait for the nodes, and build a model and an algorithm that fit their data."""
        check_not_simulated(experiment)
        settings, discovery = experiment.network, self._discovery
        if settings.clients and settings.shape and settings.classes:
            discovery.shape = (settings.clients, settings.shape, settings.classes)
        found = discovery.wait(_heading(experiment), settings.nodes or 1, settings.patience)
        assert discovery.shape is not None  # at least one node has answered
        federation = placeholder_federation(experiment.data.name, *discovery.shape)
        prepared = prepare(experiment, elsewhere=federation)
        run, planned = experiment.run, prepared.cohorts.arrival
        roster = Roster(run.seed, planned, run.cohort, run.cohorts)
        for node, info in found:
            roster.join(node, info.clients, 0)
        self._nodes = len(found)
        _check_cohort(run.cohort, roster)
        return replace(prepared, cohorts=roster)

    def world(self, prepared: Prepared) -> FlowerNetwork:
        """Return the clients on the nodes at the start of a run."""
        roster, experiment = prepared.cohorts, prepared.experiment
        assert isinstance(roster, Roster)  # from ``prepare``
        privacy, clients = experiment.privacy, prepared.federation.clients
        private = privacy.level != "none"
        return FlowerNetwork(
            self._discovery,
            roster,
            _heading(experiment),
            experiment.network,
            PrivacyGuard(privacy, clients, experiment.run.seed) if private else None,
        )

    def sizes(self, prepared: Prepared) -> str:
        """Return the number of nodes; only the nodes know the sizes of their data."""
        return f"{self._nodes:,} node{'' if self._nodes == 1 else 's'}"

    def labels(self, prepared: Prepared) -> LabelSkew:
        """Return an unknown label skew: only the nodes know the labels of their clients."""
        return UNKNOWN


def _heading(experiment: Experiment) -> OrderHeading:
    """Return the heading of this process's orders, with a new name for the run."""
    run = replace(experiment.run, data=None, device="cpu")
    text = toml.written(replace(experiment, run=run))
    return OrderHeading(
        secrets.token_hex(8), secrets.token_hex(8), 0, text, experiment.network.updates
    )


def _check_cohort(cohort: int, roster: Roster) -> None:
    offered = int(np.count_nonzero(roster.present(0)))
    if cohort > offered:
        raise SettingsError(
            f"A cohort of {cohort} is larger than the {offered} clients that the nodes offer: "
            "start more nodes and wait for them (network.nodes), or lower --cohort."
        )
