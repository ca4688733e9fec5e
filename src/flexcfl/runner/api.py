"""``flexcfl.run`` and ``flexcfl.resume``: what the commands do, from Python."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rich.console import Console

from flexcfl.data import Federation
from flexcfl.experiment import toml
from flexcfl.experiment.choices import keyword_homes
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import SettingsLayer, spoken
from flexcfl.experiment.objects import PARTS, user_objects
from flexcfl.experiment.options import Options, with_options
from flexcfl.runner import conduct as conducting
from flexcfl.runner.callbacks import Callback, callback_list
from flexcfl.runner.conduct import conduct
from flexcfl.runner.restoring import own_parts
from flexcfl.runner.result import Run
from flexcfl.runner.tracking import trackers
from flexcfl.settings import keywords
from flexcfl.shifts import Shift
from flexcfl.shifts.detection import Detector

if TYPE_CHECKING:
    from torch import nn

__all__ = ["resume", "run"]


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
    """Train a federation and return the figures and models of the run.

    Args:
        experiment: A TOML file, or its tables as a mapping; without one, the defaults.
        options: Those of the command, by the same names.
        set: Any other setting, as ``{"local.prox": 0.1}`` or ``{"local": {"prox": 0.1}}``;
            ``{"data.arrivals": [{"round": 100, "share": 0.2}]}`` lets clients appear later.
        out: The run folder to write; without one, nothing is written.
        progress: Whether to show what the command shows: settings, rounds and results.
        callbacks: Objects that follow the run, such as a ``flexcfl.Callback`` of your own or
            ``flexcfl.runner.tracking.MLflow(experiment="digits")``.

    Example:
        >>> import flexcfl
        >>> run = flexcfl.run(dataset="digits", rounds=2)
        >>> run.rounds["accuracy"].shape
        (2,)

    """
    track = options.pop("track", None)
    own, given = user_objects(options)
    return conduct(
        [_said(experiment, own_data=own.federation is not None), spoken(given, set)],
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
    """Go on with a run from its last checkpoint, to the same end as if it had never stopped.

    What could be written down with its name and options need not be given again; the rest of the
    caller's own is, as it was given to ``flexcfl.run``.

    Args:
        folder: The folder of the run, the ``out`` of ``flexcfl.run``.
        dataset: The federation, where the run has one of your own.
        model: The function that returns the ``nn.Module``, where it has one of your own.
        shift: The shifts, where they are your own.
        drift: The detector, where it is your own.
        data: The folder in which the dataset's files are now.
        track: Names of trackers, as for ``flexcfl.run``.
        progress: Whether to show what the command shows: settings, rounds and results.
        callbacks: Who is told of the run while it goes on, as for ``flexcfl.run``.

    """
    path = Path(folder)
    given = {"dataset": dataset, "model": model, "shift": shift, "drift": drift, "data": data}
    objects, named = user_objects(given, keep=own_parts(path))
    settings = {key: value for key, value in named.items() if PARTS.get(key) not in objects.parts}
    return conducting.resume(
        path,
        Console(quiet=not progress),
        layers=[spoken(settings)],
        own=objects,
        callbacks=[*callback_list(callbacks), *trackers(track)],
    )


def _said(
    experiment: str | Path | Mapping[str, Any] | Experiment | None, own_data: bool
) -> SettingsLayer:
    """Return what an experiment says; of its data what is true of the caller's, where those are."""
    if isinstance(experiment, str | Path):
        return _said(toml.read(Path(experiment)), own_data)
    tables = experiment.tables() if isinstance(experiment, Experiment) else dict(experiment or {})
    data = tables.get("data")
    if own_data and isinstance(data, Mapping):
        tables["data"] = {key: data[key] for key in ("name", "arrivals") if key in data}
    return SettingsLayer("experiment", tables)
