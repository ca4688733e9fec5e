"""``flexcfl.run`` and ``flexcfl.resume``: the commands of these names from Python."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rich.console import Console

from flexcfl.data import Federation
from flexcfl.experiment import toml
from flexcfl.experiment.choices import keyword_homes
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import SettingsLayer, options_layer
from flexcfl.experiment.objects import PARTS, user_objects
from flexcfl.experiment.options import Options, with_options
from flexcfl.runner import console_run
from flexcfl.runner.callbacks import Callback, callback_list
from flexcfl.runner.console_run import run_experiment
from flexcfl.runner.restoring import custom_parts
from flexcfl.runner.result import Run
from flexcfl.runner.tracking import trackers
from flexcfl.settings import keywords
from flexcfl.shifts import Shift
from flexcfl.shifts.detection import Detector

if TYPE_CHECKING:
    from torch import nn


@keywords(keyword_homes)
@with_options(Options)
def run(
    experiment: str | Path | Mapping[str, Any] | Experiment | None = None,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002  (the command's --set)
    out: str | Path | None = None,
    progress: bool = False,
    callbacks: Iterable[Callback] = (),
    **options: Unpack[Options],
) -> Run:
    """Train a federation and return the finished run with its metrics and models.

    Settings come from the defaults of the dataset, then ``experiment``, then the options and
    ``set``; later ones override earlier ones.

    Args:
        experiment: A TOML file, its tables as a mapping, or the ``experiment`` of another run. By
            default, only the options and ``set`` apply.
        options: The options of the command, by the same names.
        set: Any other setting, as ``{"local.prox": 0.1}`` or ``{"local": {"prox": 0.1}}``. For
            example, ``{"data.arrivals": [{"round": 100, "share": 0.2}]}`` lets clients appear
            later.
        out: The folder to write; by default nothing is written.
        progress: Whether to show what the command shows: settings, rounds and results.
        callbacks: Objects that follow the run, such as a custom ``flexcfl.Callback`` or
            ``flexcfl.runner.tracking.MLflow(experiment="digits")``.

    Returns:
        The finished run: ``rounds`` has its metrics, ``model(group)`` returns a trained module.

    Raises:
        flexcfl.errors.FlexcflError: If a setting is wrong, the data or the model do not fit, the
            training fails, or the folder cannot be written.

    Example:
        >>> import flexcfl
        >>> run = flexcfl.run(dataset="digits", algorithm="flexcfl", rounds=2)
        >>> run.rounds["accuracy"].shape
        (2,)
        >>> module = run.model(0)  # the trained nn.Module of group 0

    """
    track = options.pop("track", None)
    own, given = user_objects(options)
    return run_experiment(
        [
            _experiment_layer(experiment, own_data=own.federation is not None),
            options_layer(given, set),
        ],
        Console(quiet=not progress),
        folder=Path(out) if out is not None else None,
        file=Path(experiment) if isinstance(experiment, str | Path) else None,
        own=own,
        callbacks=[*callback_list(callbacks), *trackers(track)],
    )


@keywords()
def resume(
    folder: str | Path,
    *,
    dataset: "Federation | Callable[[], Federation] | object | None" = None,
    model: "Callable[[], nn.Module] | None" = None,
    shift: "Shift | type[Any] | Sequence[str | type[Any] | Shift] | Mapping[str, Shift] | None" = (
        None
    ),
    drift: "type[Any] | Detector | None" = None,
    data: str | Path | None = None,
    track: str | Sequence[str] | None = None,
    progress: bool = False,
    callbacks: Iterable[Callback] = (),
) -> Run:
    """Resume an interrupted run from its last checkpoint; the result is that of an unbroken run.

    Custom objects that are in the run's ``experiment.toml`` by name and options need not be passed
    again. Pass all others as they were passed to ``flexcfl.run``.

    Args:
        folder: The folder of the run, the ``out`` of ``flexcfl.run``.
        dataset: The federation, if the run has a custom one.
        model: The function that returns the ``nn.Module``, if the run has a custom one.
        shift: The shifts, if the run has custom ones.
        drift: The detector, if the run has a custom one.
        data: The folder with the files of the dataset, if they have moved.
        track: Names of trackers, as for ``flexcfl.run``.
        progress: Whether to show what the command shows: settings, rounds and results.
        callbacks: Objects that follow the rest of the run, as for ``flexcfl.run``.

    Returns:
        The finished run.

    Raises:
        flexcfl.errors.FlexcflError: If the folder has no checkpoint to resume from, if settings,
            data or custom objects differ from those of the run, or if the training fails.

    Example:
        >>> import flexcfl
        >>> run = flexcfl.resume("runs/mine")  # doctest: +SKIP

    """
    path = Path(folder)
    given = {"dataset": dataset, "model": model, "shift": shift, "drift": drift, "data": data}
    objects, named = user_objects(given, keep=custom_parts(path))
    settings = {key: value for key, value in named.items() if PARTS.get(key) not in objects.parts}
    return console_run.resume_experiment(
        path,
        Console(quiet=not progress),
        layers=[options_layer(settings)],
        own=objects,
        callbacks=[*callback_list(callbacks), *trackers(track)],
    )


def _experiment_layer(
    experiment: str | Path | Mapping[str, Any] | Experiment | None, own_data: bool
) -> SettingsLayer:
    """Return the settings of an experiment; a custom federation only takes name and arrivals."""
    if isinstance(experiment, str | Path):
        return _experiment_layer(toml.read(Path(experiment)), own_data)
    tables = experiment.tables() if isinstance(experiment, Experiment) else dict(experiment or {})
    data = tables.get("data")
    if own_data and isinstance(data, Mapping):
        tables["data"] = {key: data[key] for key in ("name", "arrivals") if key in data}
    return SettingsLayer("experiment", tables)
