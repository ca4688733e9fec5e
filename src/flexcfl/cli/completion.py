"""What a shell offers for the names that options take, those of installed packages included."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["algorithms", "datasets", "detectors", "models", "shifts"]


def algorithms(incomplete: str) -> list[tuple[str, str]]:
    """Offer algorithms."""
    from flexcfl.algorithms import ALGORITHMS

    return _beginning(incomplete, ALGORITHMS, _summaries(ALGORITHMS.ours))


def datasets(incomplete: str) -> list[tuple[str, str]]:
    """Offer datasets."""
    from flexcfl.data import DATASETS

    what = {name: dataset.what for name, dataset in DATASETS.ours.items()}
    return _beginning(incomplete, DATASETS, what)


def detectors(incomplete: str) -> list[tuple[str, str]]:
    """Offer detectors of drift."""
    from flexcfl.shifts.detection import DETECTORS

    return _beginning(incomplete, DETECTORS, _summaries(DETECTORS.ours))


def models(incomplete: str) -> list[tuple[str, str]]:
    """Offer the models that come with flexcfl, without waiting for torch."""
    return _beginning(incomplete, ("mclr", "mlp", "cnn"), {})


def shifts(incomplete: str) -> list[tuple[str, str]]:
    """Offer shifts, and that nothing shifts."""
    from flexcfl.shifts import SHIFTS

    what = {**_summaries(SHIFTS.ours), "none": "nothing changes"}
    return _beginning(incomplete, [*SHIFTS, "none"], what)


def _summaries(ours: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry.summary for name, entry in ours.items()}


def _beginning(
    incomplete: str, names: Iterable[str], summaries: Mapping[str, str]
) -> list[tuple[str, str]]:
    # Of others' things the names alone: nobody's code is imported because somebody pressed a key.
    return [(name, summaries.get(name, "")) for name in names if name.startswith(incomplete)]
