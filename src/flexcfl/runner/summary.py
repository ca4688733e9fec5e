"""``summary.json``: a run in a few figures, with what made them."""

import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from flexcfl import __version__, metrics
from flexcfl.runner.loop import Figures
from flexcfl.runner.prepare import Prepared

__all__ = ["summarised"]


def summarised(prepared: Prepared, rounds: Sequence[Figures], seconds: float) -> dict[str, Any]:
    """Return the summary of a run; ``loss`` is the mean of the last ten rounds."""
    experiment = prepared.experiment
    accuracy = [figures.accuracy for figures in rounds]
    return {
        "algorithm": experiment.algorithm.name,
        "dataset": experiment.data.name,
        "model": experiment.model.name,
        "shift": None,
        "seed": experiment.run.seed,
        "rounds": len(rounds),
        "clients": prepared.federation.clients,
        "parameters": prepared.engine.parameters,
        "accuracy": asdict(metrics.Accuracy.of(accuracy)),
        "rounds_to": metrics.rounds_to(accuracy),
        "discrepancy": asdict(metrics.Spread.of([figures.discrepancy for figures in rounds])),
        "loss": metrics.final([figures.loss for figures in rounds]),
        "seconds": round(seconds, 3),
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    libraries = {name: version(name) for name in ("torch", "numpy")}
    return {"flexcfl": __version__, "python": platform.python_version(), **libraries}
