"""``summary.json``: its types, the part that follows from the rounds, and figures by short name."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Annotated, Any, NotRequired, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # Python's own has types that pydantic reads from 3.12 on

from flexcfl.protocol import Flags
from flexcfl.record import metrics
from flexcfl.record.tables import Columns
from flexcfl.trust.guards import REASONS

HOPELESS = 10.0  # a mean loss: guessing among twenty thousand classes is better

Count: TypeAlias = Annotated[int, Field(ge=0, le=2**53)]
Size: TypeAlias = Annotated[int, Field(ge=1, le=2**31)]
Number: TypeAlias = Annotated[float, Field(ge=-1e300, le=1e300)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
MISSING = ("missing", 1)  # pydantic's error type for a missing key, and the depth of the key


class AccuracySummary(TypedDict):
    """Best, final (the mean of the last ten rounds) and median accuracy; None: not measured."""

    best: Share | None
    final: Share | None
    median: Share | None
    first_round: NotRequired[Count | None]  # not in summaries of earlier versions


class DiscrepancySummary(TypedDict):
    """Mean and variance of the discrepancy over the rounds."""

    mean: Number | None
    variance: Number | None


class TrafficSummary(TypedDict):
    """The traffic of a run, in model transfers (as the paper counts them) and in bytes."""

    transfers: Count
    relative_to_fedavg: Number | None
    down_bytes: Count
    up_bytes: Count


class AttackSummary(TypedDict):
    """An attack and the number of clients that take part in it."""

    name: str
    clients: Count


class PrivacySummary(TypedDict):
    """The privacy guarantee: an upper bound on what the updates of one client reveal."""

    level: str
    epsilon: Number
    delta: Number
    releases: Count


class ClusteringSummary(TypedDict):
    """How groups were found, and how well they are separated."""

    founders: Count
    groups: Count
    within: Number
    silhouette: Number | None


class RoundsSummary(TypedDict):
    """The part of a summary that follows from the rounds, all of them or those so far."""

    rounds: Count
    accuracy: AccuracySummary
    honest: AccuracySummary | None
    newcomers: AccuracySummary | None
    auxiliary: AccuracySummary | None
    rounds_to: dict[str, Count | None]
    discrepancy: DiscrepancySummary
    loss: Number | None
    diverged: NotRequired[Count]  # not in summaries of earlier versions
    traffic: TrafficSummary
    shifted: Count | None
    detected: Count
    placed_again: Count
    migrations: Count
    rejected: dict[str, Count]
    clipped: Count
    placed: Count


class Summary(RoundsSummary):
    """``summary.json``: the main figures of a run, and what was run."""

    algorithm: str
    dataset: str
    model: str
    shift: str | None
    seed: int
    clients: Size
    shape: Annotated[list[Size], Field(max_length=8)]
    classes: Size
    own: list[str]
    parameters: Count
    network: dict[str, Number] | None
    aggregation: str
    attack: AttackSummary | None
    privacy: PrivacySummary | None
    groups: Size
    waiting: Count
    clustering: ClusteringSummary | None
    adjusted_rand_index: Number | None
    seconds: Number
    versions: dict[str, str]
    processor: NotRequired[str]  # not in summaries of earlier versions


@cache
def _adapter() -> TypeAdapter[Summary]:
    return TypeAdapter(Summary)


def check_summary(summary: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a figure has the wrong type; missing figures are allowed."""
    try:
        _adapter().validate_python(summary, strict=True)
    except ValidationError as error:
        wrong = [
            each["loc"] for each in error.errors() if (each["type"], len(each["loc"])) != MISSING
        ]
        if wrong:
            raise ValueError(f"{wrong[0][0]} in summary.json") from None


@dataclass(frozen=True)
class SummaryFigure:
    """Where a figure is in a summary; ``high`` says whether larger values are listed first.

    A ``share`` is between 0 and 1 and is shown in percent.
    """

    place: tuple[str, ...]
    high: bool = False
    share: bool = False


FIGURES: Mapping[str, SummaryFigure] = {
    "final": SummaryFigure(("accuracy", "final"), high=True, share=True),
    "best": SummaryFigure(("accuracy", "best"), high=True, share=True),
    "median": SummaryFigure(("accuracy", "median"), high=True, share=True),
    "honest": SummaryFigure(("honest", "final"), high=True, share=True),
    "newcomers": SummaryFigure(("newcomers", "final"), high=True, share=True),
    "auxiliary": SummaryFigure(("auxiliary", "final"), high=True, share=True),
    "loss": SummaryFigure(("loss",)),
    "discrepancy": SummaryFigure(("discrepancy", "mean")),
    "traffic": SummaryFigure(("traffic", "relative_to_fedavg")),
    "transfers": SummaryFigure(("traffic", "transfers")),
    "down_bytes": SummaryFigure(("traffic", "down_bytes")),
    "up_bytes": SummaryFigure(("traffic", "up_bytes")),
    "migrations": SummaryFigure(("migrations",), high=True),
    "shifted": SummaryFigure(("shifted",), high=True),
    "detected": SummaryFigure(("detected",), high=True),
    "placed_again": SummaryFigure(("placed_again",), high=True),
    "done": SummaryFigure(("rounds",), high=True),
    "clients": SummaryFigure(("clients",), high=True),
    "parameters": SummaryFigure(("parameters",)),
    "group_count": SummaryFigure(("groups",), high=True),
    "adjusted_rand_index": SummaryFigure(("adjusted_rand_index",), high=True),
    "silhouette": SummaryFigure(("clustering", "silhouette"), high=True),
    "epsilon": SummaryFigure(("privacy", "epsilon")),
    "seconds": SummaryFigure(("seconds",)),
}


def figures_in(summary: Mapping[str, Any]) -> dict[str, float | int | None]:
    """Return all figures of a summary by short name, None if the summary lacks one."""
    return {name: _at(summary, figure.place) for name, figure in FIGURES.items()}


def _at(summary: Mapping[str, Any], place: Sequence[str]) -> Any:
    value: Any = summary
    for part in place:
        value = None if value is None else value.get(part)
    return value


def summarize_rounds(rounds: Columns, cohort: int) -> RoundsSummary:
    """Return the part of a summary that follows from the rounds, all of them or those so far.

    ``shifted`` is the number of times that a client's data changed, None if only clients know.
    """
    only_they_know = bool(np.isnan(rounds["shifted"]).any())
    return {
        "rounds": len(rounds["round"]),
        "accuracy": accuracy_of(rounds["accuracy"]),
        "honest": _accuracy(rounds["honest_accuracy"]),
        "newcomers": _accuracy(rounds["newcomers_accuracy"]),
        "auxiliary": _accuracy(rounds["auxiliary_accuracy"]),
        "rounds_to": dict(metrics.rounds_to(rounds["accuracy"])),
        "discrepancy": cast(
            DiscrepancySummary, asdict(metrics.MeanVariance.of(rounds["discrepancy"]))
        ),
        "loss": metrics.final(rounds["loss"]),
        "diverged": _diverged(rounds),
        "traffic": _traffic(rounds, cohort),
        "shifted": None if only_they_know else _sum(rounds["shifted"]),
        "detected": _sum(rounds["detected"]),
        "placed_again": _sum(rounds["placed_again"]),
        "migrations": _sum(rounds["migrated"]),
        "rejected": {reason: _sum(rounds[f"rejected_{reason}"]) for reason in REASONS},
        "clipped": _sum(rounds["clipped"]),
        "placed": _sum(rounds["placed"][-1:]),
    }


def _sum(column: NDArray[Any]) -> int:
    return int(sum(column.tolist()))  # of Python integers, which cannot overflow


def _diverged(rounds: Columns) -> int:
    """Return the number of rounds in which training failed for at least half of the cohort.

    Rounds whose mean loss is hopeless count as well.
    """
    lost = np.minimum(rounds["rejected_not_finite"], rounds["cohort"] - rounds["trained"])
    half = 2 * lost >= np.maximum(rounds["cohort"], 1)
    return int(np.count_nonzero(half | (rounds["loss"] > HOPELESS)))


def accuracy_of(curve: metrics.Curve, rounds: Flags | None = None) -> AccuracySummary:
    """Summarize a curve of accuracies over all rounds or only these."""
    return cast(AccuracySummary, asdict(metrics.Accuracy.of(curve, rounds)))


def _accuracy(curve: metrics.Curve) -> AccuracySummary | None:
    """Summarize a curve of accuracies, or return None if it has no value."""
    summary = accuracy_of(curve)
    return None if summary["best"] is None else summary


def _traffic(rounds: Columns, cohort: int) -> TrafficSummary:
    """Summarize the traffic; FedAvg sends every client of a cohort a model and gets one back."""
    transfers, number = _sum(rounds["transfers"]), len(rounds["round"])
    return {
        "transfers": transfers,
        "relative_to_fedavg": transfers / (2 * cohort * number) if number else None,
        "down_bytes": _sum(rounds["down_bytes"]),
        "up_bytes": _sum(rounds["up_bytes"]),
    }
