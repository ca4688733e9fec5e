"""A small run to follow, one that is interrupted, and a private MLflow store."""

import csv
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# MLflow would tell its makers that it is used; it reads this when it is imported.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import pytest

import flexcfl
from flexcfl.record.tables import Round
from flexcfl.runner import Callback, Run

ROUNDS, CHECKPOINT, BROKEN = 5, 3, 5
SETTINGS: dict[str, Any] = {"rounds": ROUNDS, "cohort": 10, "epochs": 1, "shift": "swap-all"}
OPTIONS = {
    "data.clients": 20,
    "shift.probability": 0.5,
    "algorithm.alpha": 3,
    "run.checkpoint_rounds": CHECKPOINT,
    "run.checkpoint_share": 1,
}

Values = dict[str, dict[int, float]]  # by name and round


class PowerCutError(Exception):
    """The power has gone."""


class PowerCut(Callback):
    """Breaks a run off after a round, once those before it in the list have heard of it."""

    def __init__(self, last: int, error: BaseException | None = None) -> None:
        self.last, self.error = last, error or PowerCutError("the power has gone")

    def round(self, done: Round) -> None:
        if done.figures.round == self.last:
            raise self.error


def run(*callbacks: Callback, out: Path | None, **words: Any) -> Run:
    """Run FlexCFL on a few clients with handwritten digits."""
    given = {**SETTINGS, **words}
    return flexcfl.run(groups=2, set=OPTIONS, out=out, callbacks=callbacks, **given)


def broken_off(folder: Path, *callbacks: Callback, error: BaseException | None = None) -> None:
    """Do the same until the power goes, in a round after the last checkpoint."""
    cut = PowerCut(BROKEN, error)
    with pytest.raises(type(cut.error)):
        run(*callbacks, cut, out=folder)


def figures(folder: Path, last: int = ROUNDS) -> Values:
    """Return the values of a run's tables up to a round, by the names that trackers use."""
    found: Values = {}
    for table in ("rounds", "groups"):
        with (folder / f"{table}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                number, group = int(row.pop("round")), row.pop("group", None)
                prefix = table if group is None else f"{table}/{group}"
                for column, value in row.items():
                    if value and number <= last:
                        found.setdefault(f"{prefix}/{column}", {})[number] = float(value)
    return found


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run without trackers."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(out=folder)
    return folder


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty store of MLflow's, which takes seconds to make."""
    mlflow = pytest.importorskip("mlflow", reason="needs flexcfl[mlflow]")
    file = tmp_path_factory.mktemp("store") / "mlflow.db"
    with quiet_store():
        mlflow.MlflowClient(f"sqlite:///{file}").search_experiments()
    return file


class quiet_store(warnings.catch_warnings):  # noqa: N801  (used as a function)
    """Let pass what MLflow's use of SQLAlchemy is warned of."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.filterwarnings("ignore", message="The ``noload`` loader strategy is deprecated")
        return entered


@pytest.fixture
def store(
    empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Any]]:
    """Let MLflow use a store of this test alone, and return what makes a client of it."""
    import mlflow

    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    file = tmp_path / "store" / "mlflow.db"
    file.parent.mkdir()
    shutil.copy(empty_store, file)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{file}")
    with quiet_store():
        yield mlflow.MlflowClient
    assert mlflow.active_run() is None
