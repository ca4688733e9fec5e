"""Logging to MLflow, in the store and experiment that MLflow's own settings choose."""

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
from flexcfl.runner.tracking.logged import Values, import_extra, missing_extra

EXTRA = "mlflow"
FILE = "mlflow.txt"  # in the folder of a run: the ID of its MLflow run
NUMBER = re.compile(rb"[0-9a-f]{32}")
EVERY_ROUND = "rounds/transfers"  # a metric that every round has
MOST_METRICS, MOST_PARAMETERS = 1000, 100  # MLflow's limits for one call
GONE = "RESOURCE_DOES_NOT_EXIST"


@dataclass(eq=False)
class MLflow(Callback):
    """Logs runs to MLflow.

    A resumed run continues its MLflow run. Rounds that are repeated, with the same values, are not
    logged twice.

    Args:
        experiment: The name of the MLflow experiment; by default MLflow chooses it.

    Example:
        >>> import flexcfl
        >>> from flexcfl.runner.tracking import MLflow
        >>> run = flexcfl.run(callbacks=[MLflow(experiment="digits")])  # doctest: +SKIP

    """

    optional: ClassVar[bool] = True

    experiment: str | None = None
    _run: str | None = field(default=None, init=False, repr=False)
    _folder: Path | None = field(default=None, init=False, repr=False)
    _known: set[int] = field(default_factory=set, init=False, repr=False)

    def check(self) -> None:
        """Raise ``SettingsError`` if MLflow is not installed or its store cannot be reached."""
        with _as_user_error(SettingsError, ", then try again"):
            client = _mlflow().MlflowClient()
            client.search_experiments(max_results=1)
            # Made here, so that parallel runs find it.
            _experiment(client, self.experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME"))

    def begin(self, beginning: Beginning) -> None:
        """Start an MLflow run, or continue the one of this folder."""
        self.check()
        self._run, self._folder, self._known = None, beginning.folder, set()
        with _as_user_error():
            if not self._continue(_run_id_in(beginning.folder)):
                self._start(beginning)
            for number, values in logged.past_rounds(beginning):
                self._log(number, values)

    def round(self, done: Round) -> None:
        """Log a round; the first one also writes the MLflow run's ID into the folder."""
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
        """End the MLflow run as killed if the run was stopped, else as failed."""
        killed = isinstance(error, StoppedError) or not isinstance(error, Exception)
        if self._run is not None:
            self._end("KILLED" if killed else "FAILED")

    def _continue(self, number: str | None) -> bool:
        """Continue an MLflow run; return False if the store no longer has it."""
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
        # Nested, in case the caller has an active run.
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
        pairs = sorted(values.items(), key=lambda each: each[0] == EVERY_ROUND)  # this one last
        metrics = [mlflow.entities.Metric(key, value, now, number) for key, value in pairs]
        for part in _parts(metrics, MOST_METRICS):
            mlflow.MlflowClient().log_batch(self._run, metrics=part)

    def _end(self, status: str) -> None:
        mlflow, number = _mlflow(), self._run
        self._run = None
        active = mlflow.active_run()
        if active is not None and active.info.run_id == number:
            mlflow.end_run(status)
        else:  # another run was started within it
            mlflow.MlflowClient().set_terminated(number, status)


def _mlflow() -> Any:
    return import_extra("mlflow", EXTRA)


def _experiment(client: Any, name: str | None) -> str | None:
    """Return the ID of an experiment, created if missing, or None for MLflow's own choice."""
    if not name:
        return None
    found = client.get_experiment_by_name(name)
    number: str = found.experiment_id if found else client.create_experiment(name)
    return number


def _run_id_in(folder: Path | None) -> str | None:
    """Return the ID of the MLflow run in the file of a folder, if there is one."""
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
    """Turn an error of MLflow into an error with one sentence."""
    mlflow = _mlflow()
    try:
        yield
    except ImportError as error:  # MLflow imports the packages of its stores late
        raise missing_extra(EXTRA, error) from None
    except (mlflow.MlflowException, OSError) as error:
        why = " ".join(str(error).split())[:300].rstrip(".")
        raise kind(
            f"MLflow does not accept what is logged ({why}): check its store (MLFLOW_TRACKING_URI)"
            f"{then}."
        ) from None
