"""Custom data: hospitals with different patients, from arrays and an owner for each example."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from flexcfl.data import Federation, from_arrays


def hospitals() -> Federation:
    """Diagnoses of breast cancer in ten hospitals, some of which see larger tumours."""
    x, y = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    size = x[:, 0] + np.random.default_rng(0).normal(size=len(y))
    rank = np.argsort(np.argsort(size)) * 10 // len(y)
    return from_arrays(x, y, owner=[f"hospital {number}" for number in rank], name="hospitals")
