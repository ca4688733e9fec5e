"""Where the paper and its released code leave a choice: either can be run.

Duan et al., TPDS 2022: Algorithms 2 and 3, Section 3.4 (drift), Section 5.1 (averaging). The first
value of each is the default here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from flexcfl.algorithms import ALGORITHMS
from flexcfl.errors import SettingsError, unknown
from flexcfl.paper.methods import Method

__all__ = ["CHOICES", "NO_SHIFT", "Choice", "Chosen", "applied", "chosen"]

NO_SHIFT = "none"
Chosen: TypeAlias = tuple[tuple[str, str], ...]  # names of choices with their values


@dataclass(frozen=True)
class Choice:
    """What can be chosen: settings by value, and for whom it makes a difference."""

    what: str
    values: Mapping[str, Mapping[str, object]]
    concerns: Callable[[Method, str], bool]

    @property
    def default(self) -> str:
        """The value that the reproduction takes unless told otherwise."""
        return next(iter(self.values))


def _places_by_pretraining(method: Method, _shift: str) -> bool:
    return method.algorithm in ("flexcfl", "flexcfl-rcc", "flexcfl-rac", "fedgroup")


def _shares(method: Method, _shift: str) -> bool:
    return "algorithm.eta_g" in method.settings


def _averages(method: Method, _shift: str) -> bool:
    return method.algorithm.startswith(("ifca", "fesem"))


def _asks_for_drift(method: Method, shift: str) -> bool:
    return ALGORITHMS[method.algorithm].migrates and shift != NO_SHIFT


def _draws_uniformly(method: Method, _shift: str) -> bool:
    return ALGORITHMS[method.algorithm].cohorts == "uniform"


def _always(_method: Method, _shift: str) -> bool:
    return True


CHOICES: Mapping[str, Choice] = {
    "pretraining": Choice(
        "founders and newcomers pre-train for 50 mini-batches (code) or one epoch (paper)",
        {"steps": {}, "epoch": {"algorithm.pretraining_epochs": 1}},
        _places_by_pretraining,
    ),
    "first-model": Choice(
        "groups begin at the mean of their founders' models (code) or at the origin (paper)",
        {"pretrained": {}, "origin": {"algorithm.first_model": "origin"}},
        _places_by_pretraining,
    ),
    "sharing": Choice(
        "inter-group aggregation is a weighted mean (code) or a sum (paper)",
        {"convex": {}, "additive": {"algorithm.sharing": "additive"}},
        _shares,
    ),
    "averaging": Choice(
        "IFCA and FeSEM count clients alike (paper) or by examples",
        {"simple": {}, "examples": {"algorithm.averaging": "examples"}},
        _averages,
    ),
    "drift": Choice(
        "clients notice drift by the share of data that changed, by the paper's Wasserstein "
        "distance, by what the code computes of it, or by MMD",
        {
            "label-share": {},
            "wasserstein": {"drift.name": "wasserstein"},
            "wasserstein-counts": {"drift.name": "wasserstein-counts"},
            "mmd": {"drift.name": "mmd"},
        },
        _asks_for_drift,
    ),
    "cohorts": Choice(
        "FedAvg and FedProx draw cohorts at random (paper) or visit everybody once first, as the "
        "clustered methods do",
        {"paper": {}, "same": {"run.cohorts": "round-robin-then-uniform"}},
        _draws_uniformly,
    ),
    "l2": Choice(
        "no penalty on weights (paper), or 0.001 times their squares (code)",
        {"none": {}, "code": {"local.l2": 0.001}},
        _always,
    ),
}


def chosen(given: Mapping[str, object]) -> Chosen:
    """Return what somebody chose, in the order of the choices; defaults are left out."""
    words = {name: str(value) for name, value in given.items()}
    for name, value in words.items():
        if name not in CHOICES:
            raise SettingsError(unknown("choice", name, CHOICES))
        if value not in CHOICES[name].values:
            raise SettingsError(unknown(f"{name} to choose", value, CHOICES[name].values))
    return tuple(
        (name, words[name])
        for name, choice in CHOICES.items()
        if words.get(name, choice.default) != choice.default
    )


def applied(wanted: Iterable[tuple[str, str]], method: Method, shift: str) -> Chosen:
    """Return those of the choices that make a difference to a method under a shift, in order."""
    values = dict(wanted)
    concerned = (name for name, choice in CHOICES.items() if choice.concerns(method, shift))
    return tuple((name, values[name]) for name in concerned if name in values)
