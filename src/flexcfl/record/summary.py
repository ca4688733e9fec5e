"""What the rounds of a run, all of them or those so far, tell in a few figures."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import NotRequired, TypedDict, cast

from flexcfl.protocol import Flags
from flexcfl.record import metrics
from flexcfl.record.tables import RoundFigures
from flexcfl.trust.guards import REASONS

__all__ = [
    *("AccuracySummary", "AttackSummary", "ClusteringSummary", "DiscrepancySummary"),
    *("PrivacySummary", "RoundsSummary", "Summary", "TrafficSummary", "accuracy_of", "of_rounds"),
]

HOPELESS = 10.0  # a mean loss: to guess is better, be it among twenty thousand classes


class AccuracySummary(TypedDict):
    """Best, final (the mean of the last ten rounds) and median accuracy; None: not measured."""

    best: float | None
    final: float | None
    median: float | None
    first_round: NotRequired[int | None]  # which earlier versions do not tell


class DiscrepancySummary(TypedDict):
    """Mean and variance of the discrepancy over the rounds."""

    mean: float | None
    variance: float | None


class TrafficSummary(TypedDict):
    """What a run sent, in model transfers as the paper counts them and in bytes."""

    transfers: int
    relative_to_fedavg: float | None
    down_bytes: int
    up_bytes: int


class AttackSummary(TypedDict):
    """An attack, and how many clients take part in it."""

    name: str
    clients: int


class PrivacySummary(TypedDict):
    """What the updates of one client may have told, at most."""

    level: str
    epsilon: float
    delta: float
    releases: int


class ClusteringSummary(TypedDict):
    """How groups were found, and how clear they are."""

    founders: int
    groups: int
    within: float | None
    silhouette: float | None


class RoundsSummary(TypedDict):
    """What the rounds alone tell, all of them or those so far."""

    rounds: int
    accuracy: AccuracySummary
    honest: AccuracySummary | None
    newcomers: AccuracySummary | None
    auxiliary: AccuracySummary | None
    rounds_to: dict[str, int | None]
    discrepancy: DiscrepancySummary
    loss: float | None
    diverged: NotRequired[int]  # which earlier versions do not tell
    traffic: TrafficSummary
    shifted: int | None
    detected: int
    placed_again: int
    migrations: int
    rejected: dict[str, int]
    clipped: int
    placed: int


class Summary(RoundsSummary):
    """``summary.json``: a run in a few figures, with what made them."""

    algorithm: str
    dataset: str
    model: str
    shift: str | None
    seed: int
    clients: int
    shape: list[int]
    classes: int
    own: list[str]
    parameters: int
    network: dict[str, float] | None
    aggregation: str
    attack: AttackSummary | None
    privacy: PrivacySummary | None
    groups: int
    waiting: int
    clustering: ClusteringSummary | None
    adjusted_rand_index: float | None
    seconds: float
    versions: dict[str, str]
    processor: NotRequired[str]  # which earlier versions do not tell


def of_rounds(rounds: Sequence[RoundFigures], cohort: int) -> RoundsSummary:
    """Return what the rounds alone tell, all of them or those so far, as the summary has it."""
    accuracy = [figures.accuracy for figures in rounds]
    return {
        "rounds": len(rounds),
        "accuracy": accuracy_of(accuracy),
        "honest": _accuracy([figures.honest_accuracy for figures in rounds]),
        "newcomers": _accuracy([figures.newcomers_accuracy for figures in rounds]),
        "auxiliary": _accuracy([figures.auxiliary_accuracy for figures in rounds]),
        "rounds_to": dict(metrics.rounds_to(accuracy)),
        "discrepancy": _spread([figures.discrepancy for figures in rounds]),
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


def _diverged(figures: RoundFigures) -> bool:
    """Whether training came to nothing for at least half of a cohort, or made all of it useless."""
    lost = min(figures.rejected_not_finite, figures.cohort - figures.trained)
    return 2 * lost >= max(figures.cohort, 1) or (figures.loss or 0.0) > HOPELESS


def accuracy_of(curve: metrics.Curve, rounds: Flags | None = None) -> AccuracySummary:
    """Sum up a curve of accuracies, over all rounds or over these alone."""
    return cast(AccuracySummary, asdict(metrics.Accuracy.of(curve, rounds)))


def _accuracy(curve: metrics.Curve) -> AccuracySummary | None:
    """Sum up a curve of accuracies, or return None if there is not one."""
    summed = accuracy_of(curve)
    return None if summed["best"] is None else summed


def _spread(curve: metrics.Curve) -> DiscrepancySummary:
    return cast(DiscrepancySummary, asdict(metrics.Spread.of(curve)))


def _shifted(numbers: Sequence[int | None]) -> int | None:
    """Return how often clients' data changed, or None where only they know."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def _traffic(rounds: Sequence[RoundFigures], cohort: int) -> TrafficSummary:
    """Sum up what the run sent; FedAvg sends each client of a cohort a model and gets one back."""
    transfers = sum(figures.transfers for figures in rounds)
    return {
        "transfers": transfers,
        "relative_to_fedavg": transfers / (2 * cohort * len(rounds)) if rounds else None,
        "down_bytes": sum(figures.down_bytes for figures in rounds),
        "up_bytes": sum(figures.up_bytes for figures in rounds),
    }
