"""The experiments of the paper: datasets with models as rows, methods as columns, and shifts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flexcfl.errors import SettingsError, unknown

CLASSES = (1, 3, 5, 10)  # classes of a client, in Table 1
ROUNDS = 300  # the paper's; ``PaperRow.seconds`` is their duration
NO_SHIFT = "none"
SHIFTS = ("swap-all", "swap-part", "incremental")


@dataclass(frozen=True)
class PaperRow:
    """A dataset with its model.

    ``settings`` are those that differ from the dataset's defaults. ``seconds`` is the approximate
    duration of 300 rounds on one core, used to estimate the time left.
    """

    name: str
    label: str
    dataset: str
    model: str
    seconds: float
    settings: Mapping[str, object] = field(default_factory=dict, hash=False)


_ROWS = (
    PaperRow("mnist-mclr", "MNIST-MCLR", "mnist", "mclr", 11),
    PaperRow("mnist-mlp", "MNIST-MLP", "mnist", "mlp", 45),
    PaperRow("mnist-cnn", "MNIST-CNN", "mnist", "cnn", 1900),
    PaperRow("femnist-mclr", "FEMNIST-MCLR", "femnist", "mclr", 8),
    PaperRow("femnist-mlp", "FEMNIST-MLP", "femnist", "mlp", 180),
    PaperRow("femnist-cnn", "FEMNIST-CNN", "femnist", "cnn", 6000),
    PaperRow("synthetic-mclr", "Synthetic(1,1)-MCLR", "synthetic", "mclr", 5),
    PaperRow("fashion-mnist-cnn", "FashionMNIST-CNN", "fashion-mnist", "cnn", 9000),
)
ROWS: Mapping[str, PaperRow] = {row.name: row for row in _ROWS}


def motivation(classes: int) -> PaperRow:
    """Return MNIST with ``classes`` classes per client and twice the epochs, a row of Table 1."""
    label = "10 classes (IID)" if classes == 10 else f"{classes} class{'es' * (classes > 1)}"
    settings = {"data.classes_per_client": classes, "local.epochs": 20}
    return PaperRow(f"mnist-mclr-classes{classes}", label, "mnist", "mclr", 20, settings)


def family(row: PaperRow) -> str:
    """Return the name of a row for --only: the rows of Table 1 are variants of one row."""
    return next(name for name in ROWS if row.name == name or row.name.startswith(f"{name}-"))


def rows_named(names: Iterable[str], known: Iterable[str]) -> tuple[PaperRow, ...]:
    """Return the rows with these names, in the paper's order; raise if a name is not ``known``."""
    known, names = list(known), list(names)
    for name in names:
        if name not in known:
            raise SettingsError(unknown("row", name, known))
    return tuple(row for row in ROWS.values() if row.name in names)


@dataclass(frozen=True)
class Method:
    """A column: an algorithm with some of its settings."""

    name: str
    label: str
    algorithm: str
    settings: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def short(self) -> str:
        """The name in the head of a column."""
        return self.label.rpartition(", ")[2]


def sharing(rate: float) -> Method:
    """Return FlexCFL with inter-group aggregation at this rate."""
    name, label = f"flexcfl-eta{rate:g}", f"FlexCFL, eta_g {rate:g}"
    return Method(name, label, "flexcfl", {"algorithm.eta_g": float(rate)})


_METHODS = (
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
METHODS: Mapping[str, Method] = {method.name: method for method in _METHODS}
