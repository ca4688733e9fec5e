"""The data sets with their models: the rows of the paper's tables (Section 5.1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flexcfl.errors import SettingsError, unknown

__all__ = ["CLASSES", "ROUNDS", "ROWS", "Row", "family", "motivation", "named"]

CLASSES = (1, 3, 5, 10)  # classes of a client, in Table 1
ROUNDS = 300  # for which seconds are given


@dataclass(frozen=True)
class Row:
    """A data set with its model.

    ``settings`` are those that the data set does not bring along. ``seconds`` is about what 300
    rounds take on one core, which is what the time left is judged by.
    """

    name: str
    label: str
    dataset: str
    model: str
    seconds: float
    settings: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def cost(self) -> float:
        """About how many seconds a round takes."""
        return self.seconds / ROUNDS


_ALL = (
    Row("mnist-mclr", "MNIST-MCLR", "mnist", "mclr", 11),
    Row("mnist-mlp", "MNIST-MLP", "mnist", "mlp", 45),
    Row("mnist-cnn", "MNIST-CNN", "mnist", "cnn", 1900),
    Row("femnist-mclr", "FEMNIST-MCLR", "femnist", "mclr", 8),
    Row("femnist-mlp", "FEMNIST-MLP", "femnist", "mlp", 180),
    Row("femnist-cnn", "FEMNIST-CNN", "femnist", "cnn", 6000),
    Row("synthetic-mclr", "Synthetic(1,1)-MCLR", "synthetic", "mclr", 5),
    Row("fashion-mnist-cnn", "FashionMNIST-CNN", "fashion-mnist", "cnn", 9000),
)
ROWS: Mapping[str, Row] = {row.name: row for row in _ALL}


def motivation(classes: int) -> Row:
    """Return MNIST with so many classes a client and twice the epochs, a row of Table 1."""
    label = "10 classes (IID)" if classes == 10 else f"{classes} class{'es' * (classes > 1)}"
    settings = {"data.classes_per_client": classes, "local.epochs": 20}
    return Row(f"mnist-mclr-classes{classes}", label, "mnist", "mclr", 20, settings)


def family(row: Row) -> str:
    """Return the name of a row as --only takes it: Table 1 has variants of one."""
    return next(name for name in ROWS if row.name == name or row.name.startswith(f"{name}-"))


def named(names: Iterable[str], known: Iterable[str]) -> tuple[Row, ...]:
    """Return the rows of these names, in the paper's order; each must be among those known."""
    known = list(known)
    for name in (names := list(names)):
        if name not in known:
            raise SettingsError(unknown("row", name, known))
    return tuple(row for row in ROWS.values() if row.name in names)
