"""A newcomer alone: the experiment of a run as it is for one client that comes when it is over."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from flexcfl.algorithms import NoOptions
from flexcfl.data import Federation
from flexcfl.experiment.experiment import NO_ATTACK, Choice, Data, Experiment, Model
from flexcfl.experiment.objects import UserObjects
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.trust.faults import Faults

if TYPE_CHECKING:
    from torch import nn

__all__ = ["alone"]


def alone(
    experiment: Experiment,
    federation: Federation,
    clients: int,
    model: "str | Callable[[], nn.Module] | None" = None,
    seed: int | None = None,
) -> Prepared:
    """Return all that it takes to hold a round with the one client of a federation.

    Nothing happens to its data and it means well. So many ``clients`` the run has, on which depends
    how private it is. ``model`` takes the place of the model that the experiment names.
    """
    run, privacy = experiment.run, experiment.privacy
    if privacy.level != "none":
        privacy = replace(privacy, delta=privacy.delta_for(clients))
    single = replace(
        experiment,
        data=Data(federation.name, NoOptions()),
        model=Model(model) if isinstance(model, str) else experiment.model,
        shift={},
        faults=Faults(),
        attack=Choice(NO_ATTACK, None),
        privacy=privacy,
        run=replace(
            run,
            cohort=1,
            evaluate_clients=None,
            device="cpu",
            seed=run.seed if seed is None else seed,
        ),
    )
    return prepare(single, UserObjects(federation, None if isinstance(model, str) else model))
