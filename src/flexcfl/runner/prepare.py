"""Everything that a run needs, built and checked before its first round."""

import os
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from flexcfl import __version__
from flexcfl.aggregation import MEAN, Rule
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS, Federation
from flexcfl.data.variants import Variants
from flexcfl.errors import SettingsError
from flexcfl.experiment import arrivals
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.objects import NO_OBJECTS, UserObjects
from flexcfl.lines import bytes_text
from flexcfl.protocol import FIGURE_BYTES, Algorithm, Ids
from flexcfl.protocol.cohorts import Attendance, Cohorts
from flexcfl.shifts import Timeline
from flexcfl.shifts.detection import DETECTORS
from flexcfl.trust.faults import Roles
from flexcfl.trust.privacy import PrivacyGuard, PrivateMean

if TYPE_CHECKING:
    from torch import nn

    from flexcfl.engine import Engine


@dataclass(frozen=True, eq=False)
class Prepared:
    """An experiment with its clients, its model and its algorithm.

    ``cohorts`` say which clients are present and which take part in a round. ``timeline`` says
    which data each client has in every round. ``roles`` say which clients are faulty or attack.
    ``make_engine`` returns the engine, or with True the engine on false labels, and builds each
    only once. ``memory`` is roughly how many bytes the algorithm needs in addition to the models
    and a cohort's updates. ``own`` names the custom objects.
    """

    experiment: Experiment
    federation: Federation
    cohorts: Attendance
    timeline: Timeline
    make_engine: "Callable[[bool], Engine]"
    algorithm: Algorithm[Any]
    roles: Roles
    memory: int
    own: tuple[str, ...] = ()

    @property
    def engine(self) -> "Engine":
        """The engine on the clients' examples."""
        return self.make_engine(False)

    @property
    def false_labels(self) -> "Engine | None":
        """The engine of attackers that train on false labels, or None if there are none."""
        attackers = self.experiment.attackers
        poisons = attackers is not None and attackers.poisons
        return self.make_engine(True) if poisons else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Comments for ``experiment.toml`` that say how to run the experiment again."""
        made = f"Made by flexcfl {__version__}"
        network = self.experiment.network
        if network.own_files:
            return (f"{made} on nodes with their own files. To run it again: docs/flower.md",)
        if network.nodes is not None:
            return (f"{made}. To run it again: flexcfl federate experiment.toml",)
        if self.own:
            return (f"{made} from Python, which alone has its {' and '.join(self.own)}.",)
        return (f"{made}. To run it again: flexcfl run experiment.toml",)


def prepare(
    experiment: Experiment,
    own: UserObjects = NO_OBJECTS,
    *,
    elsewhere: Federation | None = None,
    late: bool = False,
) -> Prepared:
    """Load the federation, and build a model and an algorithm that fit it.

    The caller's custom objects in ``own`` replace what the experiment names. ``elsewhere`` is a
    placeholder for clients whose data are not in this process, so no shift happens here. With
    ``late``, the model is built when it is first needed, and memory is not estimated.
    """
    federation = elsewhere or own.federation
    if federation is None:
        dataset = DATASETS[experiment.data.name]
        federation = dataset.load(experiment.data.options, experiment.run.data)
    shifts = {} if elsewhere is not None else experiment.shift
    arrival = arrivals.drawn(experiment.data.arrivals, federation.clients, experiment.run.seed)
    _check_cohort(experiment.run.cohort, federation, arrival)
    _check_sample(experiment.run.evaluate_clients, federation)
    run = experiment.run
    cohorts = Cohorts(run.seed, arrival, run.cohort, run.cohorts)
    timeline = Timeline(federation, shifts, run.seed, cohorts.visited)
    attackers, clients = experiment.attackers, federation.clients
    roles = Roles.drawn(experiment.faults, attackers, clients, run.seed)
    if experiment.privacy.level != "none":
        PrivacyGuard(
            experiment.privacy, clients, run.seed
        )  # fails early if the budget is too small
    make = cache(partial(_engine, experiment, federation, timeline.variants, own.factory))
    if not late:
        make(False)
    return Prepared(
        experiment=experiment,
        federation=federation,
        cohorts=cohorts,
        timeline=timeline,
        make_engine=make,
        algorithm=_algorithm(experiment),
        roles=roles,
        memory=0 if late else _memory(experiment, federation, own, make(False).parameters),
        own=own.parts,
    )


def _algorithm(experiment: Experiment) -> Algorithm[Any]:
    chosen, privacy = experiment.algorithm, experiment.privacy
    algorithm = ALGORITHMS[chosen.name].make(chosen.options, experiment.local)
    rule = experiment.aggregation.options
    if privacy.level == "group":
        rule = PrivateMean(privacy.clip, privacy.noise)
    if rule == MEAN:
        return algorithm
    return _with_rule(algorithm, rule, chosen.name)


def _with_rule(algorithm: Any, rule: Rule, name: str) -> Algorithm[Any]:
    known = {each.name for each in fields(algorithm)} if is_dataclass(algorithm) else {}
    if "rule" not in known:
        raise SettingsError(
            f"'{name}' takes no rule of aggregation: give its class a field 'rule', or leave "
            "[aggregation] and privacy.level=group out."
        )
    ruled: Algorithm[Any] = replace(algorithm, rule=rule)
    return ruled


def _memory(
    experiment: Experiment, federation: Federation, own: UserObjects, parameters: int
) -> int:
    chosen, clients = experiment.algorithm, federation.clients
    needed = ALGORITHMS[chosen.name].memory(chosen.options, clients, parameters)
    if experiment.migrates and own.detector is None:
        detector = DETECTORS[experiment.drift.name]
        kept = detector.numbers(experiment.drift.options, federation.classes)
        needed += clients * kept * FIGURE_BYTES
    check_memory(chosen.name, needed, machine_memory())
    return needed


def machine_memory() -> int | None:
    """Return the bytes of this machine's memory, or None if the system does not report them."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system supports this
        return None


def check_memory(algorithm: str, needed: int, available: int | None) -> None:
    """Refuse an algorithm that would need more memory than the machine has."""
    if available is not None and needed > available:
        raise SettingsError(
            f"'{algorithm}' would need about {bytes_text(needed)} of memory for what it keeps of "
            f"its clients, and this machine has {bytes_text(available)}: choose a smaller model "
            "(--model), fewer clients or a sample of them where there is such a setting, or "
            "another algorithm."
        )


def _check_cohort(cohort: int, federation: Federation, arrival: Ids) -> None:
    if cohort > federation.clients:
        raise SettingsError(
            f"A cohort of {cohort} is larger than the federation '{federation.name}', which has "
            f"{federation.clients} clients: choose a cohort (--cohort) of at most that many."
        )
    there = int((arrival == 0).sum())
    if cohort > there:
        raise SettingsError(
            f"A cohort of {cohort} is larger than the {there} of {federation.clients} clients that "
            "are there from the start: choose a smaller one (--cohort), or lower the shares in "
            "[data] arrivals."
        )


def _check_sample(number: int | None, federation: Federation) -> None:
    if number is not None and number > federation.clients:
        raise SettingsError(
            f"[run] evaluate_clients is {number}, more than the {federation.clients} clients of "
            f"'{federation.name}': lower it, or leave it out to evaluate on all."
        )


def _engine(
    experiment: Experiment,
    federation: Federation,
    variants: Variants | None,
    factory: "Callable[[], nn.Module] | None",
    false_labels: bool,
) -> "Engine":
    """Return an engine on the federation's examples, with false labels if requested."""
    # Imported here, so that errors in settings are reported without waiting for torch.
    from flexcfl.engine import Engine
    from flexcfl.models.catalogue import build, checked_factory

    data, name = federation, experiment.model.name
    own = checked_factory(factory, name) if factory is not None else None
    make = own or partial(build, data.name, name, data.shape, data.classes)
    device, y = experiment.run.device, data.classes - 1 - data.y if false_labels else data.y
    return Engine(make, data.x, y, data.classes, device=device, variants=variants)
