"""The numbers that the paper reports.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Tables 1 to 4 and Section 5.3. Accuracies are in %, the maximum over rounds.
"""

from collections.abc import Mapping

from flexcfl.paper.catalogue import SHIFTS

# Table 1, by classes per client: mean and variance of the discrepancy, the largest and the median
# accuracy, and the first round with 85 %.
MOTIVATION: Mapping[int, tuple[float, float, float, float, int]] = {
    1: (0.767, 0.11, 87.9, 79.3, 39),
    3: (0.767, 0.073, 90.9, 87.0, 14),
    5: (0.685, 0.021, 91.3, 90.0, 10),
    10: (0.627, 0.0082, 92.2, 91.5, 4),
}

# Table 2: clients, examples, parameters of the model.
SIZES: Mapping[str, tuple[int, int, int]] = {
    "mnist-mclr": (1000, 69_035, 7_850),
    "mnist-mlp": (1000, 69_035, 101_770),
    "mnist-cnn": (1000, 69_035, 50_186),
    "femnist-mclr": (200, 18_345, 7_850),
    "femnist-mlp": (200, 18_345, 407_050),
    "femnist-cnn": (200, 18_345, 325_578),
    "synthetic-mclr": (100, 75_349, 610),
    "fashion-mnist-cnn": (500, 72_505, 3_274_634),
}

# Table 3, in the order of its columns; FlexCFL's last one is with eta_g = 0.1.
_COLUMNS3 = (
    *("fedavg", "fedprox", "ifca", "fesem", "flexcfl-rcc", "flexcfl-rac", "flexcfl"),
    "flexcfl-eta0.1",
)
_TABLE3: Mapping[str, tuple[float | None, ...]] = {
    "mnist-mclr": (89.4, 90.9, 94.2, 84.6, 93.4, 88.2, 95.8, 95.2),
    "mnist-mlp": (92.7, 94.5, 95.8, 89.8, 96.2, 91.6, 97.0, 96.6),
    "mnist-cnn": (97.3, 94.6, 97.8, 92.0, 98.3, 95.3, 99.0, 98.8),
    "femnist-mclr": (74.9, 76.7, 85.8, 43.7, 88.8, 67.0, 90.1, 86.0),
    "femnist-mlp": (79.6, 79.4, 87.9, 57.9, 93.9, 69.4, 92.9, 88.9),
    "femnist-cnn": (95.2, 96.3, 98.1, 57.3, 98.7, 86.1, 98.7, 98.5),
    "synthetic-mclr": (66.9, 80.7, 91.3, 77.0, 86.0, None, 85.6, 80.3),
    "fashion-mnist-cnn": (89.2, 89.1, 90.9, 81.3, 91.2, 85.0, 92.6, 92.4),
}
ACCURACY: Mapping[str, Mapping[str, float | None]] = {
    row: dict(zip(_COLUMNS3, values, strict=True)) for row, values in _TABLE3.items()
}

# Table 4: under swap-all, swap-part and incremental; FlexCFL's last column is with eta_g = 5.
_COLUMNS4 = ("fedavg", "ifca", "fesem", "fedgroup", "flexcfl", "flexcfl-eta5")
_TABLE4: Mapping[str, str] = {
    "mnist-mclr": "89.9/89.2/89.9 64.5/85.0/90.2 84.7/83.6/84.5 87.1/86.3/95.1 95.1/91.7/95.1 "
    "89.1/90.2/89.1",
    "mnist-mlp": "92.0/92.7/92.3 63.4/83.7/92.0 89.6/89.3/84.0 91.7/89.9/95.6 93.8/93.3/95.6 "
    "93.4/93.5/92.4",
    "mnist-cnn": "97.3/97.5/95.4 66.5/86.6/92.6 92.2/89.6/80.0 96.5/95.7/97.3 97.0/97.0/97.4 "
    "97.8/97.9/95.4",
    "femnist-mclr": "77.1/77.3/69.9 76.3/56.7/77.3 41.5/40.6/37.7 58.1/64.6/85.8 84.7/68.5/84.8 "
    "83.1/90.2/89.1",
    "femnist-mlp": "80.3/82.1/74.2 78.7/63.4/78.7 58.9/57.1/48.8 66.1/67.8/87.5 86.6/73.4/87.5 "
    "89.9/81.5/85.7",
    "femnist-cnn": "95.7/95.9/74.1 86.1/84.0/82.8 23.1/59.8/19.8 87.6/90.9/88.2 93.7/94.7/88.6 "
    "97.2/96.6/86.1",
    "synthetic-mclr": "63.4/71.1/78.2 89.3/96.8/91.6 57.4/77.3/69.4 84.4/93.5/89.8 85.0/91.7/89.8 "
    "58.0/76.5/80.2",
    "fashion-mnist-cnn": "89.4/89.3/83.6 73.8/82.2/85.6 82.2/81.8/78.2 86.0/86.4/88.8 "
    "90.8/87.5/88.7 91.8/89.3/87.6",
}


def _by_shift(cell: str) -> dict[str, float]:
    return dict(zip(SHIFTS, map(float, cell.split("/")), strict=True))


UNDER_SHIFT: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    row: dict(zip(_COLUMNS4, map(_by_shift, cells.split()), strict=True))
    for row, cells in _TABLE4.items()
}

# Section 5.3: model transfers of 300 rounds as a multiple of FedAvg's, by row and shift.
TRANSFERS: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("mnist-mclr", "swap-all"): {"flexcfl": 1.26, "ifca-mig": 5.48},
}


def accuracy(row: str, method: str, shift: str) -> float | None:
    """Return a figure of Table 3 or, under a shift, of Table 4; None if the paper has none."""
    if shift in SHIFTS:
        return UNDER_SHIFT[row].get(method, {}).get(shift)
    return ACCURACY[row].get(method)
