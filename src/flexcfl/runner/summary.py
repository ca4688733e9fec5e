"""``summary.json``: a run in a few figures, with what made them."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from flexcfl.protocol import NO_GROUP, Clustering, Serving
from flexcfl.protocol.cohorts import NEVER
from flexcfl.record import metrics
from flexcfl.record.summary import (
    AttackSummary,
    ClusteringSummary,
    PrivacySummary,
    Summary,
    of_rounds,
)
from flexcfl.record.tables import MESSAGES, ROUNDS, Messages, Rows
from flexcfl.runner.origin import processor, versions
from flexcfl.runner.prepare import Prepared
from flexcfl.trust.privacy import epsilon

__all__ = ["summarised"]


def summarised(
    prepared: Prepared,
    rows: Rows,
    serving: Serving,
    releases: int,
    seconds: float,
) -> Summary:
    """Return the summary of a run that ends with these models in service.

    Accuracies are over the rounds that have one; ``loss`` is the mean of the last ten rounds.
    ``releases`` is how many updates left the client of which most did.
    """
    experiment, federation = prepared.experiment, prepared.federation
    known = of_rounds(rows[ROUNDS], experiment.run.cohort)
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
        "accuracy": known["accuracy"],
        "honest": known["honest"],
        "newcomers": known["newcomers"],
        "auxiliary": known["auxiliary"],
        "rounds_to": known["rounds_to"],
        "discrepancy": known["discrepancy"],
        "loss": known["loss"],
        "diverged": known["diverged"],
        "traffic": known["traffic"],
        "network": _network(rows[MESSAGES]),
        "shifted": known["shifted"],
        "detected": known["detected"],
        "placed_again": known["placed_again"],
        "migrations": known["migrations"],
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


def _attack(prepared: Prepared) -> AttackSummary | None:
    hostile = int(np.count_nonzero(prepared.roles.hostile))
    return {"name": prepared.experiment.attack.name, "clients": hostile} if hostile else None


def _privacy(prepared: Prepared, releases: int) -> PrivacySummary | None:
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


def _clustering(found: Clustering | None) -> ClusteringSummary | None:
    if found is None:
        return None
    return {
        "founders": len(found.clients),
        "groups": found.groups,
        "within": found.within,
        "silhouette": found.silhouette,
    }
