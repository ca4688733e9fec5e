"""``summary.json``: a run in a few figures, with what made them."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from flexcfl import metrics
from flexcfl.cohorts import NEVER
from flexcfl.guards import REASONS
from flexcfl.privacy import epsilon
from flexcfl.protocol import NO_GROUP, Clustering, Serving
from flexcfl.runner.figures import Figures, Messages
from flexcfl.runner.origin import processor, versions
from flexcfl.runner.prepare import Prepared

__all__ = ["of_rounds", "summarised"]

# What rounds tell by curves of figures.
CURVES = (
    *("accuracy", "honest", "newcomers", "auxiliary"),
    *("rounds_to", "discrepancy", "loss", "diverged"),
)
HOPELESS = 10.0  # a mean loss: to guess is better, be it among twenty thousand classes


def summarised(
    prepared: Prepared,
    rounds: Sequence[Figures],
    messages: Sequence[Messages],
    serving: Serving,
    releases: int,
    seconds: float,
) -> dict[str, Any]:
    """Return the summary of a run that ends with these models in service.

    Accuracies are over the rounds that have one; ``loss`` is the mean of the last ten rounds.
    ``releases`` is how many updates left the client of which most did.
    """
    experiment, federation = prepared.experiment, prepared.federation
    known = of_rounds(rounds, experiment.run.cohort)
    waiting = np.isin(serving.model_of, serving.waiting)
    return {
        "algorithm": experiment.algorithm.name,
        "dataset": experiment.data.name,
        "model": experiment.model.name,
        "shift": "+".join(experiment.shift) or None,
        "seed": experiment.run.seed,
        "rounds": known["rounds"],
        "clients": int(np.count_nonzero(prepared.cohorts.arrival != NEVER)),
        "shape": list(federation.shape),
        "classes": federation.classes,
        "own": list(prepared.own),
        "parameters": prepared.engine.parameters,
        **{name: known[name] for name in CURVES},
        "traffic": known["traffic"],
        "network": _network(messages),
        **{name: known[name] for name in ("shifted", "detected", "placed_again", "migrations")},
        "aggregation": experiment.aggregation.name,
        "attack": _attack(prepared),
        "rejected": known["rejected"],
        "clipped": known["clipped"],
        "privacy": _privacy(prepared, releases),
        "groups": len(serving.groups),
        "placed": known["placed"],
        "waiting": int(waiting.sum()),
        "clustering": _clustering(serving.clustering),
        "adjusted_rand_index": metrics.adjusted_rand_index(
            # Where clients' data change, the clusters of the start are no longer theirs.
            None if experiment.shift else federation.structure,
            np.where(waiting, NO_GROUP, serving.model_of),
        ),
        "seconds": round(seconds, 3),
        "versions": versions(),
        "processor": processor(),
    }


def of_rounds(rounds: Sequence[Figures], cohort: int) -> dict[str, Any]:
    """Return what the rounds alone tell, all of them or those so far, as the summary has it."""
    accuracy = [figures.accuracy for figures in rounds]
    return {
        "rounds": len(rounds),
        "accuracy": asdict(metrics.Accuracy.of(accuracy)),
        "honest": _accuracy([figures.honest_accuracy for figures in rounds]),
        "newcomers": _accuracy([figures.newcomers_accuracy for figures in rounds]),
        "auxiliary": _accuracy([figures.auxiliary_accuracy for figures in rounds]),
        "rounds_to": metrics.rounds_to(accuracy),
        "discrepancy": asdict(metrics.Spread.of([figures.discrepancy for figures in rounds])),
        "loss": metrics.final([figures.loss for figures in rounds]),
        "diverged": sum(map(_diverged, rounds)),
        "traffic": _traffic(rounds, cohort),
        "shifted": _shifted([figures.shifted for figures in rounds]),
        "detected": sum(figures.detected for figures in rounds),
        "placed_again": sum(figures.placed_again for figures in rounds),
        "migrations": sum(figures.migrated for figures in rounds),
        "rejected": {
            reason: sum(getattr(figures, f"rejected_{reason}") for figures in rounds)
            for reason in REASONS
        },
        "clipped": sum(figures.clipped for figures in rounds),
        "placed": rounds[-1].placed if rounds else 0,
    }


def _diverged(figures: Figures) -> bool:
    """Whether training came to nothing for at least half of a cohort, or made all of it useless."""
    lost = min(figures.rejected_not_finite, figures.cohort - figures.trained)
    return 2 * lost >= max(figures.cohort, 1) or (figures.loss or 0.0) > HOPELESS


def _accuracy(curve: metrics.Curve) -> dict[str, float] | None:
    """Sum up a curve of accuracies, or return None if there is not one."""
    summed = metrics.Accuracy.of(curve)
    return None if summed.best is None else asdict(summed)


def _shifted(numbers: Sequence[int | None]) -> int | None:
    """Return how often clients' data changed, or None where only they know."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _attack(prepared: Prepared) -> dict[str, Any] | None:
    hostile = int(np.count_nonzero(prepared.roles.hostile))
    return {"name": prepared.experiment.attack.name, "clients": hostile} if hostile else None


def _privacy(prepared: Prepared, releases: int) -> dict[str, Any] | None:
    """Return what one client's updates may have told, at most, or None without a promise."""
    settings = prepared.experiment.privacy
    if settings.level == "none":
        return None
    delta = settings.delta_for(prepared.federation.clients)
    return {
        "level": settings.level,
        "epsilon": epsilon(settings.noise, releases, delta),
        "delta": delta,
        "releases": releases,
    }


def _traffic(rounds: Sequence[Figures], cohort: int) -> dict[str, float | None]:
    """Sum up what the run sent; FedAvg sends each client of a cohort a model and gets one back."""
    transfers = sum(figures.transfers for figures in rounds)
    return {
        "transfers": transfers,
        "relative_to_fedavg": transfers / (2 * cohort * len(rounds)) if rounds else None,
        "down_bytes": sum(figures.down_bytes for figures in rounds),
        "up_bytes": sum(figures.up_bytes for figures in rounds),
    }


def _network(messages: Sequence[Messages]) -> dict[str, float] | None:
    """Sum up what went over a network, or return None without one.

    ``framing`` is by what share the bytes sent exceed those of the arrays in them.
    """
    if not messages:
        return None
    names = [each.name for each in fields(Messages) if each.name not in ("round", "order")]
    sums = {name: sum(getattr(each, name) for each in messages) for name in names}
    wire = sums["wire_down_bytes"] + sums["wire_up_bytes"]
    sent = sums["sent_down_bytes"] + sums["sent_up_bytes"]
    return {**sums, "framing": round(sent / wire - 1, 6) if wire else 0.0}


def _clustering(found: Clustering | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    return {
        "founders": len(found.clients),
        "groups": found.groups,
        "within": found.within,
        "silhouette": found.silhouette,
    }
