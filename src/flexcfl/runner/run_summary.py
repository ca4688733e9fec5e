"""``summary.json``: the main figures of a run, with its settings and versions."""

from collections.abc import Mapping
from typing import cast

import numpy as np

from flexcfl.protocol import NO_GROUP, Clustering, Serving
from flexcfl.protocol.cohorts import NEVER
from flexcfl.record import metrics
from flexcfl.record.summary import (
    AttackSummary,
    ClusteringSummary,
    PrivacySummary,
    Summary,
    summarize_rounds,
)
from flexcfl.record.tables import MESSAGES, ROUNDS, Columns
from flexcfl.runner.origin import processor, versions
from flexcfl.runner.prepare import Prepared
from flexcfl.trust.privacy import epsilon

# The order of the keys in the file; those from ``summarize_rounds`` are mixed with the others.
ORDER = (
    *("algorithm", "dataset", "model", "shift", "seed", "rounds", "clients", "shape", "classes"),
    *("own", "parameters", "accuracy", "honest", "newcomers", "auxiliary", "rounds_to"),
    *("discrepancy", "loss", "diverged", "traffic", "network", "shifted", "detected"),
    *("placed_again", "migrations", "aggregation", "attack", "rejected", "clipped", "privacy"),
    *("groups", "placed", "waiting", "clustering", "adjusted_rand_index", "seconds", "versions"),
    "processor",
)


def summarize_run(
    prepared: Prepared,
    tables: Mapping[str, Columns],
    serving: Serving,
    releases: int,
    seconds: float,
) -> Summary:
    """Return the summary of a run that ends with these models in service.

    Accuracies cover the rounds in which they were measured. ``loss`` is the mean of the last ten
    rounds. ``releases`` is the largest number of updates that any one client released.
    """
    experiment, federation = prepared.experiment, prepared.federation
    waiting = np.isin(serving.model_of, serving.waiting)
    made: Summary = {
        **summarize_rounds(tables[ROUNDS], experiment.run.cohort),
        "algorithm": experiment.algorithm.name,
        "dataset": experiment.data.name,
        "model": experiment.model.name,
        "shift": "+".join(experiment.shift) or None,
        "seed": experiment.run.seed,
        "clients": int(np.count_nonzero(prepared.cohorts.arrival != NEVER)),
        "shape": list(federation.shape),
        "classes": federation.classes,
        "own": list(prepared.own),
        "parameters": prepared.engine.parameters,
        "network": _network(tables[MESSAGES]),
        "aggregation": experiment.aggregation.name,
        "attack": _attack(prepared),
        "privacy": _privacy(prepared, releases),
        "groups": len(serving.groups),
        "waiting": int(waiting.sum()),
        "clustering": _clustering(serving.clustering),
        "adjusted_rand_index": metrics.adjusted_rand_index(
            # If clients' data change, the clusters at the start no longer apply.
            None if experiment.shift else federation.structure,
            np.where(waiting, NO_GROUP, serving.model_of),
        ),
        "seconds": round(seconds, 3),
        "versions": versions(),
        "processor": processor(),
    }
    return cast(Summary, {name: made[name] for name in ORDER})  # type: ignore[literal-required]


def _attack(prepared: Prepared) -> AttackSummary | None:
    hostile = int(np.count_nonzero(prepared.roles.hostile))
    return {"name": prepared.experiment.attack.name, "clients": hostile} if hostile else None


def _privacy(prepared: Prepared, releases: int) -> PrivacySummary | None:
    """Return the privacy guarantee, or None if there is none."""
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


def _network(messages: Columns) -> dict[str, float] | None:
    """Return the totals of the messages sent over a network, or None if there is no network.

    ``framing`` is the share by which the bytes sent exceed those of the arrays in them.
    """
    if not len(messages["round"]):
        return None
    names = [name for name in messages if name not in ("round", "order")]
    sums = {name: int(messages[name].sum()) for name in names}
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
