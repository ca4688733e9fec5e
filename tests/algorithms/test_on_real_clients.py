"""Clustered algorithms on clients that really train: known clusters, and equivalences."""

from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.protocol import NO_GROUP

SHORT: dict[str, Any] = {"rounds": 6, "epochs": 2}


@pytest.mark.parametrize("measure", ["edc", "madc"])
@pytest.mark.parametrize("clusters", [3, 5])
def test_known_clusters_are_recovered_exactly_from_a_third_of_the_clients(
    measure: str, clusters: int
) -> None:
    run = flexcfl.run(
        dataset="clusters",
        algorithm="flexcfl",
        groups=clusters,
        set={
            "data": {"clusters": clusters, "clients": 30 * clusters},
            "algorithm": {"alpha": 10, "measure": measure},
            "run": {"cohort": 30},
        },
        **SHORT,
    )
    assert run.clustering is not None
    assert len(run.clustering.clients) == 10 * clusters
    assert (run.group_of != NO_GROUP).all()
    assert run.summary["adjusted_rand_index"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [3, 5, 8])
def test_auto_finds_how_many_clusters_there_are(clusters: int) -> None:
    run = flexcfl.run(
        dataset="clusters",
        algorithm="flexcfl",
        groups="auto",
        set={"data": {"clusters": clusters, "clients": 120}},
        **SHORT,
    )
    assert run.summary["clustering"] is not None
    assert run.summary["clustering"]["groups"] == clusters
    assert run.summary["adjusted_rand_index"] == 1


def test_one_group_that_begins_at_the_origin_is_fedavg_on_the_same_cohorts() -> None:
    same: dict[str, Any] = {"dataset": "digits", **SHORT}
    policy = {"run.cohorts": "round-robin-then-uniform"}
    fedavg = flexcfl.run(algorithm="fedavg", set=policy, **same)
    options = {"algorithm.first_model": "origin", **policy}
    one = flexcfl.run(algorithm="flexcfl", groups=1, set=options, **same)
    assert np.array_equal(one.models[0], fedavg.models[0])
    assert np.array_equal(one.rounds["loss"], fedavg.rounds["loss"])
    known = ~np.isnan(one.rounds["accuracy"])
    assert known.any()
    assert np.array_equal(one.rounds["accuracy"][known], fedavg.rounds["accuracy"][known])


def test_grouping_is_worth_it_where_clusters_disagree() -> None:
    best = {
        name: flexcfl.run(dataset="clusters", algorithm=name, rounds=15).accuracy.best
        for name in ("fedavg", "flexcfl")
    }
    assert best["flexcfl"] is not None
    assert best["fedavg"] is not None
    assert best["flexcfl"] > best["fedavg"] + 0.3
