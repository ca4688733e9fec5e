"""Every method, one paper to a file, all driven through the same conversation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flexcfl.algorithms import cfl, fesem, flexcfl, flhc
from flexcfl.algorithms.ablations import random_assignment, random_centres
from flexcfl.algorithms.cfl import CFL, CflOptions
from flexcfl.algorithms.fedavg import FedAvg
from flexcfl.algorithms.fedgroup import fedgroup
from flexcfl.algorithms.fedprox import fedprox
from flexcfl.algorithms.fesem import FeSEM, FesemOptions, fesem_mig
from flexcfl.algorithms.flexcfl import FlexCFL
from flexcfl.algorithms.flexcfl_options import FlexcflOptions, RccOptions
from flexcfl.algorithms.flhc import FLHC, FlhcOptions
from flexcfl.algorithms.ifca import IFCA, IfcaOptions, ifca_mig
from flexcfl.algorithms.options import NoOptions
from flexcfl.cohorts import Policy
from flexcfl.extensions import Registry
from flexcfl.protocol import Algorithm, Local

__all__ = [
    "ALGORITHMS",
    "CFL",
    "FLHC",
    "IFCA",
    "CflOptions",
    "Entry",
    "FeSEM",
    "FedAvg",
    "FesemOptions",
    "FlexCFL",
    "FlexcflOptions",
    "FlhcOptions",
    "IfcaOptions",
    "NoOptions",
    "RccOptions",
    "fedgroup",
    "fedprox",
    "fesem_mig",
    "ifca_mig",
    "legacy_options",
    "random_assignment",
    "random_centres",
]


@dataclass(frozen=True)
class Entry:
    """One line of the registry.

    ``make(options, local)`` builds the algorithm from an ``options`` instance. ``proximal`` says
    that the dataset's FedProx weight is its default for ``local.prox``, ``cohorts`` which clients
    it is given where the experiment does not say (clustered methods want to see everybody once).
    ``placing`` says by what a newcomer finds its group.
    ``migrates`` says that clients whose data have drifted are placed again. ``memory(options,
    clients, parameters)`` is about how many bytes it keeps or gathers at once beyond a few models
    and one cohort's updates. ``legacy_options`` are the values of options in an experiment.toml
    that was written before there were such options, where they are not the defaults.
    """

    summary: str
    make: Callable[[Any, Local], Algorithm[Any]]
    options: type = NoOptions
    proximal: bool = False
    cohorts: Policy = "round-robin-then-uniform"
    migrates: bool = False
    placing: str = "as the algorithm places newcomers"
    memory: Callable[[Any, int, int], int] = lambda options, clients, parameters: 0
    legacy_options: Mapping[str, object] = field(default_factory=dict)


def legacy_options(name: object) -> Mapping[str, object]:
    """Return what an algorithm did before it had the options that choose it."""
    entry = ALGORITHMS.ours.get(str(name))
    return {} if entry is None else entry.legacy_options


def _own(found: object) -> Entry:
    if isinstance(found, Entry):
        return found
    raise TypeError(
        f"must be a flexcfl.algorithms.Entry, which says how to make it, not {found!r:.60}."
    )


ONE = "as everybody, for there is one model"
ALIGNED = "by the direction of its first update"
FITTING = "by the lowest loss on its training examples"
CHANCE = "by chance, as everybody who is new"
DISTINCT = {"start": "distinct"}  # as FeSEM began before it could begin otherwise

ALGORITHMS = Registry(
    "algorithm",
    {
        "fedavg": Entry(
            "one model for everybody, the mean of what the cohort made of it",
            make=lambda _, local: FedAvg(local),
            cohorts="uniform",
            placing=ONE,
        ),
        "fedprox": Entry(
            "FedAvg whose clients are held near the model they received",
            make=lambda _, local: fedprox(local),
            proximal=True,
            cohorts="uniform",
            placing=ONE,
        ),
        "fedgroup": Entry(
            "FlexCFL without migration: clients stay in the group they first found",
            make=lambda options, local: fedgroup(local, options),
            options=FlexcflOptions,
            placing=ALIGNED,
            memory=flexcfl.memory,
        ),
        "flexcfl": Entry(
            "groups found by clustering updates; who is new or drifted joins the best aligned",
            make=lambda options, local: FlexCFL(local, options),
            options=FlexcflOptions,
            migrates=True,
            placing=ALIGNED,
            memory=flexcfl.memory,
        ),
        "flexcfl-rcc": Entry(
            "FlexCFL with random clients for the groups' centres, an ablation",
            make=lambda options, local: random_centres(local, options),
            options=RccOptions,
            migrates=True,
            placing=ALIGNED,
        ),
        "flexcfl-rac": Entry(
            "FlexCFL that places newcomers at random, an ablation",
            make=lambda options, local: random_assignment(local, options),
            options=FlexcflOptions,
            migrates=True,
            placing=CHANCE,
            memory=flexcfl.memory,
        ),
        "ifca": Entry(
            "each client trains the group model that fits its data best",
            make=lambda options, local: IFCA(local, options),
            options=IfcaOptions,
            placing=FITTING,
        ),
        "ifca-mig": Entry(
            "IFCA whose clients choose anew, from all models, when their data have drifted",
            make=lambda options, local: ifca_mig(local, options),
            options=IfcaOptions,
            migrates=True,
            placing=FITTING,
        ),
        "fesem": Entry(
            "each client joins the group model nearest to its own last model",
            make=lambda options, local: FeSEM(local, options),
            options=FesemOptions,
            placing=CHANCE,
            memory=fesem.memory,
            legacy_options=DISTINCT,
        ),
        "fesem-mig": Entry(
            "FeSEM that assigns clients anew when their data have drifted",
            make=lambda options, local: fesem_mig(local, options),
            options=FesemOptions,
            migrates=True,
            placing=CHANCE,
            memory=fesem.memory,
            legacy_options=DISTINCT,
        ),
        "cfl": Entry(
            "clusters that split in two when their clients pull apart",
            make=lambda options, local: CFL(local, options),
            options=CflOptions,
            placing="by the directions of its updates, from the first model down to a group",
            memory=cfl.memory,
        ),
        "flhc": Entry(
            "FedAvg for some rounds, then one hierarchical clustering of all updates",
            make=lambda options, local: FLHC(local, options),
            options=FlhcOptions,
            placing="by the distance of its update to those with which the groups began",
            memory=flhc.memory,
        ),
    },
    _own,
)
"""Every method by its name."""
