"""``flexcfl.run`` and ``flexcfl.resume``: what the commands do, from Python."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from flexcfl.data import Federation
from flexcfl.drift import Detector
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import Layer, assigned, keyword_homes, spoken
from flexcfl.experiment.own import Own
from flexcfl.runner import conduct as conducting
from flexcfl.runner.callbacks import Callback
from flexcfl.runner.conduct import conduct
from flexcfl.runner.result import Run
from flexcfl.settings import keywords
from flexcfl.shifts import Shift

if TYPE_CHECKING:
    from torch import nn

__all__ = ["resume", "run"]


@keywords(keyword_homes)
def run(
    experiment: str | Path | Mapping[str, Any] | Experiment | None = None,
    *,
    dataset: str | Federation | None = None,
    model: "str | Callable[[], nn.Module] | None" = None,
    algorithm: str | None = None,
    groups: int | Literal["auto"] | None = None,
    rounds: int | None = None,
    cohort: int | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    shift: str | Sequence[str] | Mapping[str, Shift] | None = None,
    drift: str | Detector | None = None,
    seed: int | None = None,
    data: str | Path | None = None,
    device: str | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002  (the command's --set)
    out: str | Path | None = None,
    progress: bool = False,
    callbacks: Iterable[Callback] = (),
) -> Run:
    """Train a federation and return the figures and models of the run.

    Args:
        experiment: A TOML file, or its tables as a mapping; without one, the defaults.
        dataset: A name such as ``"mnist"``, or a federation of your own.
        model: ``"mclr"``, ``"mlp"``, ``"cnn"``, ``"package.module:factory"``, or a function that
            returns an ``nn.Module``.
        algorithm: A name such as ``"fedavg"``.
        groups: How many groups a clustered algorithm makes, or ``"auto"`` where it can find out.
        rounds: How many communication rounds.
        cohort: How many clients take part in a round.
        epochs: How often a client goes through its own data in a round.
        batch: How many examples make a mini-batch.
        rate: The clients' learning rate.
        shift: How clients' data change, such as ``"swap-all"``; several act together, ``"none"``
            keeps them as they are. Shifts of your own are given as ``{"name": shift}``.
        drift: How clients notice that their data have drifted: a name such as ``"label-share"``, or
            a detector of your own.
        seed: What all randomness derives from.
        data: The folder in which the dataset's files are looked for first.
        device: Where to compute, such as ``"cpu"`` or ``"cuda"``.
        set: Any other setting, as ``{"local.prox": 0.1}`` or ``{"local": {"prox": 0.1}}``;
            ``{"data.arrivals": [{"round": 100, "share": 0.2}]}`` lets clients appear later.
        out: The run folder to write; without one, nothing is written.
        progress: Whether to show what the command shows: settings, rounds and results.
        callbacks: Who is told of the run while it goes on, such as ``flexcfl.tracking.MLflow()``
            or a ``flexcfl.Callback`` of your own.

    Example:
        >>> import flexcfl
        >>> run = flexcfl.run(dataset="digits", rounds=2)
        >>> run.rounds["accuracy"].shape
        (2,)

    """
    federation = dataset if isinstance(dataset, Federation) else None
    factory = model if callable(model) else None
    detector = None if isinstance(drift, str) else drift
    shifts = shift if isinstance(shift, Mapping) else None
    given = {
        "algorithm": algorithm,
        "dataset": federation.name if federation else dataset,
        "model": _label(factory) if factory else model,
        "groups": groups,
        "rounds": rounds,
        "cohort": cohort,
        "epochs": epochs,
        "batch": batch,
        "rate": rate,
        "shift": shift if shifts is None else list(shifts),
        "drift": _label(type(detector)) if detector is not None else drift,
        "seed": seed,
        "data": data,
        "device": device,
    }
    return conduct(
        [_said(experiment, own_data=federation is not None), spoken(given, assigned(set))],
        Console(quiet=not progress),
        folder=Path(out) if out is not None else None,
        file=Path(experiment) if isinstance(experiment, str | Path) else None,
        own=Own(federation, factory, shifts, detector),
        callbacks=_several(callbacks),
    )


@keywords()
def resume(
    folder: str | Path,
    *,
    dataset: Federation | None = None,
    model: "Callable[[], nn.Module] | None" = None,
    shift: Mapping[str, Shift] | None = None,
    drift: Detector | None = None,
    data: str | Path | None = None,
    progress: bool = False,
    callbacks: Iterable[Callback] = (),
) -> Run:
    """Go on with a run from its last checkpoint, to the same end as if it had never stopped.

    Args:
        folder: The folder of the run, the ``out`` of ``flexcfl.run``.
        dataset: The federation, where the run has one of your own.
        model: The function that returns the ``nn.Module``, where it has one of your own.
        shift: The shifts as ``{"name": shift}``, where they are your own.
        drift: The detector, where it is your own.
        data: The folder in which the dataset's files are now.
        progress: Whether to show what the command shows: settings, rounds and results.
        callbacks: Who is told of the run while it goes on, as for ``flexcfl.run``.

    """
    return conducting.resume(
        Path(folder),
        Console(quiet=not progress),
        layers=[spoken({"data": data}, {})] if data is not None else [],
        own=Own(dataset, model, shift, drift),
        callbacks=_several(callbacks),
    )


def _said(experiment: str | Path | Mapping[str, Any] | Experiment | None, own_data: bool) -> Layer:
    """Return what an experiment says; of its data what is true of the caller's, where those are."""
    if isinstance(experiment, str | Path):
        return _said(toml.read(Path(experiment)), own_data)
    tables = experiment.tables() if isinstance(experiment, Experiment) else dict(experiment or {})
    data = tables.get("data")
    if own_data and isinstance(data, Mapping):
        tables["data"] = {key: data[key] for key in ("name", "arrivals") if key in data}
    return Layer("experiment", tables)


def _several(callbacks: object) -> list[Callback]:
    """Return callbacks as a list, once each is known to be one."""
    given: list[Any] = list(callbacks) if isinstance(callbacks, Iterable) else [None]
    needed = ("begin", "round", "end", "break_off")
    for each in given:
        # A class in the place of an object would have all of them, too.
        if isinstance(each, type) or not all(hasattr(each, name) for name in needed):
            raise SettingsError(
                "callbacks must be a list of objects such as [flexcfl.tracking.TensorBoard()], not "
                f"{callbacks!r:.60}."
            )
    return given


def _label(factory: "Callable[[], object]") -> str:
    """Return the name of a factory or a class in the form in which a TOML file could name it."""
    while isinstance(factory, partial):
        factory = factory.func
    name = getattr(factory, "__qualname__", type(factory).__qualname__)
    return f"{getattr(factory, '__module__', None) or 'python'}:{name}"
