"""The methods that the paper compares: its columns, as algorithms with their settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["METHODS", "Method", "sharing"]


@dataclass(frozen=True)
class Method:
    """A column: an algorithm, and what is set of it."""

    name: str
    label: str
    algorithm: str
    settings: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def short(self) -> str:
        """The name at the head of a column."""
        return self.label.rpartition(", ")[2]


def sharing(rate: float) -> Method:
    """Return FlexCFL with inter-group aggregation at this rate."""
    name, label = f"flexcfl-eta{rate:g}", f"FlexCFL, eta_g {rate:g}"
    return Method(name, label, "flexcfl", {"algorithm.eta_g": float(rate)})


_ALL = (
    Method("fedavg", "FedAvg", "fedavg"),
    Method("fedprox", "FedProx", "fedprox"),
    Method("ifca", "IFCA", "ifca"),
    Method("ifca-mig", "IFCA-MIG", "ifca-mig"),
    Method("fesem", "FeSEM", "fesem"),
    Method("fesem-mig", "FeSEM-MIG", "fesem-mig"),
    Method("fedgroup", "FedGroup", "fedgroup"),
    Method("cfl", "CFL", "cfl"),
    Method("flhc", "FL+HC", "flhc"),
    Method("flexcfl-rcc", "RCC", "flexcfl-rcc"),
    Method("flexcfl-rac", "RAC", "flexcfl-rac"),
    Method("flexcfl", "FlexCFL", "flexcfl"),
    sharing(0.1),
    sharing(5.0),
)
METHODS: Mapping[str, Method] = {method.name: method for method in _ALL}
