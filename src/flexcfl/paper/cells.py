"""Cells of the paper's tables, one run each, and the choices that paper and code leave open.

Choices are from Algorithms 2 and 3, Section 3.4 (drift) and Section 5.1 (averaging).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from flexcfl.algorithms import ALGORITHMS
from flexcfl.errors import SettingsError, unknown
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve
from flexcfl.paper.catalogue import NO_SHIFT, ROUNDS, Method, PaperRow

RUNS = "runs"  # the folder of all cells
Chosen: TypeAlias = tuple[tuple[str, str], ...]  # names of choices with their values


@dataclass(frozen=True)
class PaperChoice:
    """A choice that the paper leaves open: the settings of each value, the default first.

    ``concerns`` says whether it makes a difference to a method under a shift.
    """

    what: str
    values: Mapping[str, Mapping[str, object]]
    concerns: Callable[[Method, str], bool]

    @property
    def default(self) -> str:
        """The value if none is chosen."""
        return next(iter(self.values))


def _pretrains(method: Method, _shift: str) -> bool:
    return method.algorithm in ("flexcfl", "flexcfl-rcc", "flexcfl-rac", "fedgroup")


CHOICES: Mapping[str, PaperChoice] = {
    "pretraining": PaperChoice(
        "founders and newcomers pre-train for 50 mini-batches (code) or one epoch (paper)",
        {"steps": {}, "epoch": {"algorithm.pretraining_epochs": 1}},
        _pretrains,
    ),
    "first-model": PaperChoice(
        "groups begin at the mean of their founders' models (code) or at the origin (paper)",
        {"pretrained": {}, "origin": {"algorithm.first_model": "origin"}},
        _pretrains,
    ),
    "sharing": PaperChoice(
        "inter-group aggregation is a weighted mean (code) or a sum (paper)",
        {"convex": {}, "additive": {"algorithm.sharing": "additive"}},
        lambda method, _: "algorithm.eta_g" in method.settings,
    ),
    "averaging": PaperChoice(
        "IFCA and FeSEM count clients alike (paper) or by examples",
        {"simple": {}, "examples": {"algorithm.averaging": "examples"}},
        lambda method, _: method.algorithm.startswith(("ifca", "fesem")),
    ),
    "drift": PaperChoice(
        "clients notice drift by the share of data that changed, by the paper's Wasserstein "
        "distance, by what the code computes of it, or by MMD",
        {
            "label-share": {},
            "wasserstein": {"drift.name": "wasserstein"},
            "wasserstein-counts": {"drift.name": "wasserstein-counts"},
            "mmd": {"drift.name": "mmd"},
        },
        lambda method, shift: ALGORITHMS[method.algorithm].migrates and shift != NO_SHIFT,
    ),
    "cohorts": PaperChoice(
        "FedAvg and FedProx draw cohorts at random (paper) or visit everybody once first, as the "
        "clustered methods do",
        {"paper": {}, "same": {"run.cohorts": "round-robin-then-uniform"}},
        lambda method, _: ALGORITHMS[method.algorithm].cohorts == "uniform",
    ),
    "l2": PaperChoice(
        "no penalty on weights (paper), or 0.001 times their squares (code)",
        {"none": {}, "code": {"local.l2": 0.001}},
        lambda _method, _shift: True,
    ),
}


def chosen(given: Mapping[str, object]) -> Chosen:
    """Return the given choices in the order of ``CHOICES``, without defaults."""
    values = {name: str(value) for name, value in given.items()}
    for name, value in values.items():
        if name not in CHOICES:
            raise SettingsError(unknown("choice", name, CHOICES))
        if value not in CHOICES[name].values:
            raise SettingsError(unknown(f"{name} to choose", value, CHOICES[name].values))
    return tuple(
        (name, values[name])
        for name, choice in CHOICES.items()
        if values.get(name, choice.default) != choice.default
    )


@dataclass(frozen=True)
class TablePart:
    """A cell of a table, without its seed and its number of rounds."""

    row: PaperRow
    method: Method
    shift: str = NO_SHIFT
    chosen: Chosen = ()

    @property
    def setting(self) -> str:
        """The name of the row, with the shift if there is one."""
        return self.row.name if self.shift == NO_SHIFT else f"{self.row.name}-{self.shift}"

    @property
    def name(self) -> str:
        """The name of the method, with what was chosen."""
        return "-".join([self.method.name, *(f"{name}-{value}" for name, value in self.chosen)])

    def choosing(self, wanted: Chosen) -> "TablePart":
        """Return the same part with the choices that make a difference to it."""
        values = dict(wanted)
        made = tuple(
            (name, values[name])
            for name, choice in CHOICES.items()
            if name in values and choice.concerns(self.method, self.shift)
        )
        return replace(self, chosen=made)


@dataclass(frozen=True)
class Cell:
    """One run: a part with a seed and a number of rounds; ``data`` is the folder of the files."""

    part: TablePart
    seed: int = 0
    rounds: int = ROUNDS
    data: Path | None = field(default=None, compare=False)

    @property
    def folder(self) -> str:
        """The folder of the run within the folder of the reproduction."""
        short = "" if self.rounds == ROUNDS else f"-rounds{self.rounds}"
        return f"{RUNS}/{self.part.setting}{short}/{self.part.name}-seed{self.seed}"

    @property
    def title(self) -> str:
        """The name of the cell in messages."""
        return f"'{self.part.setting}, {self.part.name}' with seed {self.seed}"

    @cached_property
    def experiment(self) -> Experiment:
        """All settings: the paper's, which are the dataset's defaults, and those that differ."""
        part = self.part
        said: dict[str, object] = {
            "data.name": part.row.dataset,
            "model.name": part.row.model,
            "algorithm.name": part.method.algorithm,
            "shift.name": part.shift,
            "run.seed": self.seed,
            "run.rounds": self.rounds,
            **part.row.settings,
            **part.method.settings,
        }
        for name, value in part.chosen:
            said |= CHOICES[name].values[value]
        if self.data is not None:
            said["run.data"] = self.data
        return resolve([SettingsLayer("given", said)]).experiment
