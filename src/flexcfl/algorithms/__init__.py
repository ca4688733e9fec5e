"""Every method, one paper to a file, all driven through the same conversation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as settings

from flexcfl.algorithms.fedavg import FedAvg
from flexcfl.algorithms.fedprox import fedprox
from flexcfl.cohorts import Policy
from flexcfl.protocol import Algorithm, Local

__all__ = ["ALGORITHMS", "Entry", "FedAvg", "NoOptions", "fedprox"]


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class NoOptions:
    """The options of an algorithm that has none."""


@dataclass(frozen=True)
class Entry:
    """One line of the registry.

    ``make(options, local)`` builds the algorithm from an ``options`` instance. ``proximal`` says
    that the dataset's FedProx weight is its default for ``local.prox``, ``cohorts`` which clients
    it is given where the experiment does not say.
    """

    summary: str
    make: Callable[[Any, Local], Algorithm[Any]]
    options: type = NoOptions
    proximal: bool = False
    cohorts: Policy = "uniform"


ALGORITHMS: Mapping[str, Entry] = MappingProxyType(
    {
        "fedavg": Entry(
            "one model for everybody, the mean of what the cohort made of it",
            make=lambda _, local: FedAvg(local),
        ),
        "fedprox": Entry(
            "FedAvg whose clients are held near the model they received",
            make=lambda _, local: fedprox(local),
            proximal=True,
        ),
    }
)
