"""An experiment from its layers, where nodes may bring files of their own."""

from collections.abc import Sequence

from flexcfl.data.federation import stand_in
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import Layer, merged
from flexcfl.experiment.network import Network
from flexcfl.experiment.own import NOTHING, Own
from flexcfl.settings import validated
from flexcfl.trust.faults import Faults

__all__ = ["EVERY_ROUND", "check_real", "own_of"]

# After every round, because a crash costs more here than a checkpoint does.
EVERY_ROUND = Layer("network", {"run": {"checkpoint_rounds": 1, "checkpoint_share": 1.0}})


def own_of(layers: Sequence[Layer]) -> Own:
    """Return what stands for data of nodes' own, or nothing where they have a known dataset."""
    tables = merged(layers).tables
    network = validated(Network, tables["network"], "[network]")
    if network.clients is None or network.shape is None or network.classes is None:
        return NOTHING
    name = tables["data"].get("name", "own")
    return Own(stand_in(str(name), network.clients, network.shape, network.classes))


def check_real(experiment: Experiment) -> None:
    """Refuse to make up what happens to clients with data of their own."""
    if not experiment.network.own_files:
        return
    made_up = {
        "[shift]": bool(experiment.shift),
        "[data] arrivals": bool(experiment.data.arrivals),
        "[faults]": experiment.faults != Faults(),
        "[attack]": experiment.attackers is not None,
    }
    for name, given in made_up.items():
        if given:
            raise SettingsError(
                f"{name} is simulated, and the nodes of this experiment have data of their own "
                "([network] clients), to which it happens or not: leave it out."
            )
