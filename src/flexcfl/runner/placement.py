"""Placing a newcomer: its group, found as on its own device, and the accuracy of every model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl import seeds
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import Federation
from flexcfl.data.user_data import Pair, RawExamples, arrays_that_fit
from flexcfl.errors import DataError, SettingsError
from flexcfl.experiment.experiment import RunSettings
from flexcfl.protocol import NO_GROUP, Evaluate, Ids, Serving
from flexcfl.runner.conversation import hold_conversation
from flexcfl.runner.hosting import simulation, single_client
from flexcfl.runner.restoring import WRONG
from flexcfl.runner.result import Run
from flexcfl.settings import validated
from flexcfl.trust.guards import Guards

TRAIN, TEST = "x and y", "x_test and y_test"


@dataclass(frozen=True, eq=False)
class Placement:
    """The group for a new client, and how well each model does on its examples.

    Attributes:
        group: The group that the client joins, or None if none fits, for example because its
            training diverges.
        how: How the algorithm found the group, in words.
        accuracy: The accuracy of each model of the run on the client's examples.
        loss: The loss of each model on the same examples.
        examples: The number of examples on which the models were evaluated.
        tested: Whether these were separate test examples, and not those that placed the client.
        groups: The numbers of the models that are groups.

    Example:
        >>> import flexcfl
        >>> from sklearn.datasets import load_digits
        >>> run = flexcfl.run(dataset="digits", rounds=2)
        >>> x, y = load_digits(return_X_y=True)
        >>> placement = run.place(x[y < 2] / 16, y[y < 2])
        >>> placement.best in placement.groups
        True

    """

    group: int | None
    how: str
    accuracy: NDArray[np.float64]
    loss: NDArray[np.float64]
    examples: int
    tested: bool
    groups: Ids

    @property
    def best(self) -> int:
        """The group whose model has the highest accuracy here; ties go to the lowest loss."""
        ranked = np.lexsort((self.loss[self.groups], -self.accuracy[self.groups]))
        return int(self.groups[ranked[0]])

    def __str__(self) -> str:
        which = "no group" if self.group is None else f"group {self.group}"
        right = "" if self.group is None else f", accuracy {self.accuracy[self.group]:.1%}"
        return f"{which}, {self.how}{right}"


def place(
    run: Run,
    x: ArrayLike,
    y: ArrayLike,
    x_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    seed: int | None = None,
) -> Placement:
    """Place a newcomer with these examples alone, after the last round of a run."""
    name = run.experiment.algorithm.name
    if run.newcomer is None:
        raise SettingsError(
            f"'{name}' cannot place one newcomer alone: give its class a method newcomer (see "
            "flexcfl.protocol.Welcoming), and run it again."
        )
    if seed is not None:
        validated(RunSettings, {"seed": seed}, "The newcomer's")
    train, test = _examples(run, x, y, TRAIN), _test(run, x_test, y_test)
    federation = _federation(run.experiment.data.name, train, test, run.summary["classes"])
    try:
        group, loss, hits = _placed(run, federation, seed)
    except WRONG as error:  # data that were read back can cause any of these
        raise SettingsError(
            f"Placing a newcomer fails with an error ({type(error).__name__}: {error}): if "
            "the folder of the run was not changed, look for the error in your own code, or "
            "report it."
        ) from error
    examples = int(federation.test.sizes[0])
    return Placement(
        group,
        ALGORITHMS[name].placing,
        hits / examples,
        loss / examples,
        examples,
        tested=test is not None,
        groups=np.setdiff1d(np.arange(len(run.models)), run.waiting),
    )


def _placed(
    run: Run, federation: Federation, seed: int | None
) -> tuple[int | None, NDArray[np.float64], Ids]:
    """Run the round after the last one with the newcomer only, which evaluates all models."""
    clients, number = run.summary["clients"], run.summary["rounds"] + 1
    prepared = single_client(run.experiment, federation, clients, run.engine.factory, seed)
    algorithm, seed = prepared.algorithm, prepared.experiment.run.seed
    world = simulation(prepared, seed)  # if one client diverges, that is an answer, not an error
    executor, rng = world.at(number), seeds.generator(seed, "round", number)
    talk = algorithm.round(run.newcomer, np.array([0]), np.array([True]), rng)
    group = _group(algorithm.serving(hold_conversation(talk, executor, number, Guards()).result))
    models = np.stack(run.models)
    newcomer = np.zeros(len(models), dtype=np.int64)
    measured = executor(Evaluate(newcomer, models, np.arange(len(models)), "test"))
    return group, measured.loss, measured.hits


def _group(serving: Serving) -> int | None:
    found = int(serving.model_of[0])
    return None if found == NO_GROUP or found in serving.waiting else found


def _test(run: Run, x: ArrayLike | None, y: ArrayLike | None) -> Pair | None:
    if x is None and y is None:
        return None
    if x is None or y is None:
        missing = "x_test" if x is None else "y_test"
        raise DataError(f"{missing} is missing: give both of {TEST}, or neither.")
    return _examples(run, x, y, TEST)


def _examples(run: Run, x: ArrayLike, y: ArrayLike, what: str) -> Pair:
    examples = RawExamples(f"The newcomer ({what})", np.asarray(x), np.asarray(y))
    pair = arrays_that_fit(
        examples, tuple(run.summary["shape"]), run.summary["classes"], "the model"
    )
    if not len(pair[1]):
        raise DataError(f"{examples.subject} has no examples: give at least one.")
    return pair


def _federation(name: str, train: Pair, test: Pair | None, classes: int) -> Federation:
    own = np.arange(len(train[1]))
    if test is None:
        return Federation(name, *train, [own], [own], classes)  # type: ignore[arg-type]
    x, y = np.concatenate([train[0], test[0]]), np.concatenate([train[1], test[1]])
    other = np.arange(len(own), len(y))
    return Federation(name, x, y, [own], [other], classes)  # type: ignore[arg-type]
