"""Runs in MLflow: in the store and the experiment that its own variables and calls choose."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from flexcfl import disk
from flexcfl.errors import FlexcflError, SettingsError, TrainingError
from flexcfl.record import lifecycle
from flexcfl.record.folder import write
from flexcfl.record.tables import Round
from flexcfl.runner.callbacks import Beginning, Callback
from flexcfl.runner.result import Run
from flexcfl.runner.stopping import StoppedError
from flexcfl.runner.tracking import logged
from flexcfl.runner.tracking.logged import Values, missing, needed

__all__ = ["FILE", "MLflow"]

EXTRA = "mlflow"
FILE = "mlflow.txt"  # within the folder of a run: the number of its run in MLflow
NUMBER = re.compile(rb"[0-9a-f]{32}")
EVERY_ROUND = "rounds/transfers"  # a figure without which there is no round
MOST_METRICS, MOST_PARAMETERS = 1000, 100  # that MLflow takes at once
GONE = "RESOURCE_DOES_NOT_EXIST"


@dataclass(eq=False)
class MLflow(Callback):
    """Logs runs for MLflow, in an ``experiment`` of that name or else the one that MLflow chooses.

    Where a run goes on, so does its run in MLflow, in which rounds that are done again, to the same
    figures, are not logged twice.
    """

    optional: ClassVar[bool] = True

    experiment: str | None = None
    _run: str | None = field(default=None, init=False, repr=False)
    _folder: Path | None = field(default=None, init=False, repr=False)
    _known: set[int] = field(default_factory=set, init=False, repr=False)

    def check(self) -> None:
        """Find out whether MLflow is installed and its store can be reached."""
        with _as_user_error(SettingsError, ", then try again"):
            client = _mlflow().MlflowClient()
            client.search_experiments(max_results=1)
            # Made here and now, so that runs side by side find it.
            _experiment(client, self.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME"))

    def begin(self, beginning: Beginning) -> None:
        """Begin a run in MLflow, or go on with the one of this folder."""
        self.check()
        self._run, self._folder, self._known = None, beginning.folder, set()
        with _as_user_error():
            if not self._go_on(_kept(beginning.folder)):
                self._start(beginning)
            for number, values in logged.past(beginning):
                self._log(number, values)

    def round(self, done: Round) -> None:
        """Log a round; before the first one nothing of ours is in the folder."""
        if self._folder is not None and self._run is not None:
            write(self._folder, FILE, f"{self._run}\n".encode())
            self._folder = None
        with _as_user_error():
            self._log(done.figures.round, logged.round_values(done.figures, done.groups))

    def end(self, run: Run) -> None:
        """Log the summary in the last round, and end the run."""
        with _as_user_error():
            self._send(run.summary["rounds"], logged.summary_values(run.summary))
            self._end("FINISHED")

    def break_off(self, error: BaseException) -> None:
        """End the run as killed, where somebody has stopped it, or else as failed."""
        killed = isinstance(error, StoppedError) or not isinstance(error, Exception)
        if self._run is not None:
            self._end("KILLED" if killed else "FAILED")

    def _go_on(self, number: str | None) -> bool:
        """Go on with a run, unless there is none of that number in this store any more."""
        if number is None:
            return False
        mlflow = _mlflow()
        client = mlflow.MlflowClient()
        try:
            found = client.get_run(number)
        except mlflow.MlflowException as error:
            if error.error_code != GONE:
                raise
            return False
        if found.info.lifecycle_stage != "active":
            return False
        self._run = mlflow.start_run(run_id=number, nested=True).info.run_id
        self._known = {each.step for each in client.get_metric_history(number, EVERY_ROUND)}
        return True

    def _start(self, beginning: Beginning) -> None:
        mlflow, folder, experiment = _mlflow(), beginning.folder, beginning.experiment
        client = mlflow.MlflowClient()
        name = folder.resolve().name if folder else lifecycle.run_name(experiment)
        tags = {"flexcfl.folder": str(folder.resolve())} if folder else {}
        chosen = {"experiment_id": _experiment(client, self.experiment), "run_name": name}
        # Nested, where the caller has begun a run.
        self._run = mlflow.start_run(**chosen, nested=True, tags=tags).info.run_id
        settings = logged.settings(experiment).items()
        parameters = [mlflow.entities.Param(key, str(value)) for key, value in settings]
        for part in _parts(parameters, MOST_PARAMETERS):
            client.log_batch(self._run, params=part)

    def _log(self, number: int, values: Values) -> None:
        if number not in self._known:
            self._send(number, values)

    def _send(self, number: int, values: Values) -> None:
        mlflow, now = _mlflow(), int(time.time() * 1000)
        pairs = sorted(values.items(), key=lambda each: each[0] == EVERY_ROUND)  # which comes last
        metrics = [mlflow.entities.Metric(key, value, now, number) for key, value in pairs]
        for part in _parts(metrics, MOST_METRICS):
            mlflow.MlflowClient().log_batch(self._run, metrics=part)

    def _end(self, status: str) -> None:
        mlflow, number = _mlflow(), self._run
        self._run = None
        active = mlflow.active_run()
        if active is not None and active.info.run_id == number:
            mlflow.end_run(status)
        else:  # somebody has begun another one within it
            mlflow.MlflowClient().set_terminated(number, status)


def _mlflow() -> Any:
    return needed("mlflow", EXTRA)


def _experiment(client: Any, name: str | None) -> str | None:
    """Return the number of an experiment, made if need be, or None for MLflow's own choice."""
    if not name:
        return None
    found = client.get_experiment_by_name(name)
    number: str = found.experiment_id if found else client.create_experiment(name)
    return number


def _kept(folder: Path | None) -> str | None:
    """Return the number of the run in MLflow that a folder tells, if it tells one."""
    if folder is None:
        return None
    try:
        found = NUMBER.match(disk.read(folder / FILE, 32))
    except OSError:
        return None
    return found[0].decode() if found else None


def _parts(items: list[Any], most: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), most):
        yield items[start : start + most]


@contextmanager
def _as_user_error(kind: type[FlexcflError] = TrainingError, then: str = "") -> Iterator[None]:
    """Say in a sentence that MLflow cannot do its part."""
    mlflow = _mlflow()
    try:
        yield
    except ImportError as error:  # what stores need is imported late
        raise missing(EXTRA, error) from None
    except (mlflow.MlflowException, OSError) as error:
        why = " ".join(str(error).split())[:300].rstrip(".")
        raise kind(
            f"MLflow does not take what is logged ({why}): see to its store (MLFLOW_TRACKING_URI)"
            f"{then}."
        ) from None
