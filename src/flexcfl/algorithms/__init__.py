"""Every method, one paper to a file, all driven through the same conversation."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass, replace
from typing import Any, get_type_hints

from pydantic.dataclasses import dataclass as settings

from flexcfl.aggregation import MEAN
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
from flexcfl.algorithms.options import FORBID, NoOptions
from flexcfl.errors import SettingsError
from flexcfl.extensions import Registry, summary_of
from flexcfl.protocol import Algorithm, Local
from flexcfl.protocol.cohorts import Policy

__all__ = [
    "ALGORITHMS",
    "CFL",
    "FLHC",
    "IFCA",
    "AlgorithmEntry",
    "CflOptions",
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
    "name_and_settings",
    "random_assignment",
    "random_centres",
]


@dataclass(frozen=True)
class AlgorithmEntry:
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


def _own(found: object) -> AlgorithmEntry:
    if isinstance(found, AlgorithmEntry):
        return found
    if isinstance(found, type) and all(hasattr(found, each) for each in CONVERSATIONS):
        return _of_class(found)
    raise TypeError(
        "must be a flexcfl.algorithms.AlgorithmEntry, which says how to make it, or a class with "
        f"{', '.join(CONVERSATIONS)}, not {found!r:.60}."
    )


def _of_class(kind: type[Any]) -> AlgorithmEntry:
    """Return the entry of a class: its fields except ``local`` and ``rule`` are its options."""
    if not is_dataclass(kind):
        raise TypeError(
            "must be a dataclass, whose fields are its options: put @dataclass(frozen=True) above "
            f"{kind.__name__}."
        )
    make: Any = kind
    hints, own = get_type_hints(kind), [each for each in fields(kind) if each.name not in GIVEN]
    named = [(each.name, hints[each.name], copy(each)) for each in own]
    plain = make_dataclass(f"{kind.__name__}Options", named, frozen=True)
    options = settings(frozen=True, config=FORBID)(plain)

    def make_algorithm(chosen: Any, local: Local) -> Algorithm[Any]:
        values = {each.name: getattr(chosen, each.name) for each in own}
        algorithm: Algorithm[Any] = make(local=local, **values)
        return algorithm

    return AlgorithmEntry(summary_of(kind), make_algorithm, options)


def name_and_settings(algorithm: object) -> tuple[str, dict[str, object]]:
    """Return by which name and settings a class or an object is found again, as a file has it.

    Ours are known by what they do: ``IFCA(migrates=True)`` is ``ifca-mig``.
    """
    name, made = _named(algorithm)
    if getattr(made, "rule", MEAN) != MEAN:
        raise SettingsError(
            f"{type(made).__name__} has a rule of its own: set it as aggregation.name instead."
        )
    tables = {"algorithm": getattr(made, "options", made), "local": getattr(made, "local", None)}
    return name, {
        f"{table}.{key}": value
        for table, values in tables.items()
        for key, value in _changed(values).items()
    }


def _named(algorithm: object) -> tuple[str, object]:
    """Return the name of a class or an object, and the object, None of a class of others."""
    kind: Any = algorithm if isinstance(algorithm, type) else type(algorithm)
    if not all(hasattr(kind, each) for each in CONVERSATIONS):
        raise SettingsError(
            f"algorithm must be a name, a class with {', '.join(CONVERSATIONS)}, or an object of "
            f"one, not {algorithm!r:.60}."
        )
    made: Any = kind(Local()) if algorithm in OURS else algorithm
    options = getattr(made, "options", NoOptions())
    for name, entry in ALGORITHMS.ours.items():
        alike = kind in OURS and isinstance(options, entry.options)
        if alike and replace(made, rule=MEAN) == entry.make(options, made.local):
            return name, made
    path = f"{kind.__module__}:{kind.__qualname__}"
    if "<locals>" in path:
        raise SettingsError(
            f"The algorithm {kind.__qualname__} cannot be found by its name, which going on with "
            "the run takes: define it at the top of a module or of a notebook."
        )
    return path, None if isinstance(algorithm, type) else algorithm


def _changed(values: Any) -> dict[str, object]:
    """Return the fields that are not what they are by default."""
    if not is_dataclass(values):
        return {}
    own = [each for each in fields(values) if each.name not in GIVEN]
    found = {each.name: getattr(values, each.name) for each in own}
    return {each.name: found[each.name] for each in own if found[each.name] != each.default}


CONVERSATIONS = ("start", "round", "serving")  # what an algorithm has
GIVEN = ("local", "rule")  # what a run brings
OURS = (FedAvg, FlexCFL, IFCA, FeSEM, CFL, FLHC)
ONE = "as everybody, for there is one model"
ALIGNED = "by the direction of its first update"
FITTING = "by the lowest loss on its training examples"
CHANCE = "by chance, as everybody who is new"
DISTINCT = {"start": "distinct"}  # as FeSEM began before it could begin otherwise

ALGORITHMS = Registry(
    "algorithm",
    {
        "fedavg": AlgorithmEntry(
            "one model for everybody, the mean of what the cohort made of it",
            make=lambda _, local: FedAvg(local),
            cohorts="uniform",
            placing=ONE,
        ),
        "fedprox": AlgorithmEntry(
            "FedAvg whose clients are held near the model they received",
            make=lambda _, local: fedprox(local),
            proximal=True,
            cohorts="uniform",
            placing=ONE,
        ),
        "fedgroup": AlgorithmEntry(
            "FlexCFL without migration: clients stay in the group they first found",
            make=lambda options, local: fedgroup(local, options),
            options=FlexcflOptions,
            placing=ALIGNED,
            memory=flexcfl.memory,
        ),
        "flexcfl": AlgorithmEntry(
            "groups found by clustering updates; who is new or drifted joins the best aligned",
            make=lambda options, local: FlexCFL(local, options),
            options=FlexcflOptions,
            migrates=True,
            placing=ALIGNED,
            memory=flexcfl.memory,
        ),
        "flexcfl-rcc": AlgorithmEntry(
            "FlexCFL with random clients for the groups' centres, an ablation",
            make=lambda options, local: random_centres(local, options),
            options=RccOptions,
            migrates=True,
            placing=ALIGNED,
        ),
        "flexcfl-rac": AlgorithmEntry(
            "FlexCFL that places newcomers at random, an ablation",
            make=lambda options, local: random_assignment(local, options),
            options=FlexcflOptions,
            migrates=True,
            placing=CHANCE,
            memory=flexcfl.memory,
        ),
        "ifca": AlgorithmEntry(
            "each client trains the group model that fits its data best",
            make=lambda options, local: IFCA(local, options),
            options=IfcaOptions,
            placing=FITTING,
        ),
        "ifca-mig": AlgorithmEntry(
            "IFCA whose clients choose anew, from all models, when their data have drifted",
            make=lambda options, local: ifca_mig(local, options),
            options=IfcaOptions,
            migrates=True,
            placing=FITTING,
        ),
        "fesem": AlgorithmEntry(
            "each client joins the group model nearest to its own last model",
            make=lambda options, local: FeSEM(local, options),
            options=FesemOptions,
            placing=CHANCE,
            memory=fesem.memory,
            legacy_options=DISTINCT,
        ),
        "fesem-mig": AlgorithmEntry(
            "FeSEM that assigns clients anew when their data have drifted",
            make=lambda options, local: fesem_mig(local, options),
            options=FesemOptions,
            migrates=True,
            placing=CHANCE,
            memory=fesem.memory,
            legacy_options=DISTINCT,
        ),
        "cfl": AlgorithmEntry(
            "clusters that split in two when their clients pull apart",
            make=lambda options, local: CFL(local, options),
            options=CflOptions,
            placing="by the directions of its updates, from the first model down to a group",
            memory=cfl.memory,
        ),
        "flhc": AlgorithmEntry(
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
