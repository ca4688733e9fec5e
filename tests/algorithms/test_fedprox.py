"""FedProx is FedAvg with a proximal term, and nothing more."""

import doctest
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from flexcfl.algorithms import ALGORITHMS
from flexcfl.protocol import Local, Train, drive


def models(name: str, prox: float, federation: Any) -> np.ndarray:
    entry = ALGORITHMS[name]
    method = entry.make(entry.options(), Local(rate=0.5, prox=prox))
    state = drive(
        method.start(federation.initial, federation.present, np.random.default_rng(0)), federation
    )
    for number in range(3):
        rng = np.random.default_rng(number)
        state = drive(method.round(state, np.array([0, 3, 5]), federation.present, rng), federation)
    return method.serving(state).models


def test_without_its_term_it_is_fedavg(parabolas: Callable[..., Any]) -> None:
    fedprox = models("fedprox", 0.0, parabolas(6))
    assert np.array_equal(fedprox, models("fedavg", 0.0, parabolas(6)))


def test_with_it_clients_stay_nearer(parabolas: Callable[..., Any]) -> None:
    federation = parabolas(6)
    assert not np.array_equal(models("fedprox", 1.0, federation), models("fedavg", 0.0, federation))
    orders = [order for order, _ in federation.exchanges if isinstance(order, Train)]
    assert [order.local.prox for order in orders] == [1.0] * 3 + [0.0] * 3


def test_the_example_in_the_documentation() -> None:
    # The package offers a function of the module's name.
    module = importlib.import_module("flexcfl.algorithms.fedprox")
    assert doctest.testmod(module) == (0, 1)
