"""How updates become the step of a group, and how groups share what they learnt.

All rules except the mean withstand a minority of hostile clients. They ignore weights, because a
client could claim any number of examples.
"""

from dataclasses import dataclass

from flexcfl.aggregation.geometric import GeometricMedian, geometric_median, geometric_weights
from flexcfl.aggregation.means import (
    MEAN,
    Averaging,
    Mean,
    Rule,
    Sharing,
    Weights,
    group_steps,
    norms,
    shared,
    stepped,
)
from flexcfl.aggregation.robust import Clusters, Krum, Median, MultiKrum, TrimmedMean
from flexcfl.extensions import Registry, entry_maker

__all__ = [
    "MEAN",
    "RULES",
    "Averaging",
    "Clusters",
    "GeometricMedian",
    "Krum",
    "Mean",
    "Median",
    "MultiKrum",
    "Rule",
    "RuleEntry",
    "Sharing",
    "TrimmedMean",
    "Weights",
    "geometric_median",
    "geometric_weights",
    "group_steps",
    "norms",
    "shared",
    "stepped",
]


@dataclass(frozen=True)
class RuleEntry:
    """One entry of the registry: a summary, and the class whose fields are the rule's options."""

    summary: str
    rule: type[Rule]


RULES = Registry(
    "rule",
    {
        "mean": RuleEntry("the mean of all, weighted by examples if the algorithm says so", Mean),
        "median": RuleEntry("the median of each coordinate", Median),
        "trimmed-mean": RuleEntry("the mean of each coordinate without its ends", TrimmedMean),
        "krum": RuleEntry("the one update that is nearest to its neighbours", Krum),
        "multi-krum": RuleEntry(
            "the mean of the updates that are nearest to their neighbours", MultiKrum
        ),
        "geometric-median": RuleEntry(
            "the point whose distances to all updates have the smallest sum", GeometricMedian
        ),
        "clusters": RuleEntry("the mean of the larger cluster, if updates point apart", Clusters),
    },
    entry_maker(RuleEntry, "flexcfl.aggregation.Median", "__call__"),
)
"""Every rule by its name."""
