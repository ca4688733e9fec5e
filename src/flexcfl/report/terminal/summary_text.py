"""A summary in words: what a run reached, how its training went, and what it sent."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from flexcfl import lines
from flexcfl.record.summary import AccuracySummary, PrivacySummary, Summary, TrafficSummary
from flexcfl.report.terminal.setting_rows import Rows

__all__ = ["MANY", "clients_text", "divergence_advice", "mostly_diverged", "summary_rows"]

# Why answers are turned away, in words.
REASONS = {
    "late": "late",
    "stale": "for another round",
    "invalid": "not asked for, or naming what is not there",
    "shape": "of the wrong shape",
    "not_finite": "not finite",
    "norm": "too long",
    "founding": "of founders at odds with most, or copies of another's",
}
FINAL_MEANS = " (the mean of the last ten rounds)"
MANY = 12  # more groups than that are not listed one by one


def summary_rows(
    summary: Summary, accuracy: NDArray[Any], sample: str = "", groups: str = ""
) -> Rows:
    """Return in words what a summary tells, of a whole run or of the rounds so far.

    ``accuracy`` is that of each round, NaN where there is none.
    """
    measured = np.flatnonzero(~np.isnan(accuracy)).tolist()
    rows = {
        "accuracy": _accuracy(summary["accuracy"], FINAL_MEANS) if measured else _unplaced(summary),
        "sample": sample,
        "honest": _honest(summary),
        "newcomers": _accuracy(summary["newcomers"]),
        "auxiliary": _accuracy(summary["auxiliary"]),
        "reached": _reached(summary["rounds_to"]) if measured else "",
        "loss": f"{_number(summary['loss'])} in the last ten rounds",
        "warning": _warning(summary),
        "discrepancy": f"{_number(summary['discrepancy']['mean'])} over all rounds",
        "groups": groups,
        "drift": _drift(summary),
        "refused": _refused(summary),
        "privacy": _privacy(summary["privacy"]),
        "traffic": _traffic(summary["traffic"]),
    }
    return {name: Text(text) for name, text in rows.items() if text}


def mostly_diverged(summary: Summary) -> bool:
    """Whether training diverged in most rounds; summaries of earlier versions do not say so."""
    return bool(2 * summary.get("diverged", 0) > summary["rounds"])


def divergence_advice(attacked: bool = True) -> str:
    """Return what to do where training diverges, of which clients that attack may be the cause."""
    return f"{'where no client is at fault, ' if attacked else ''}lower the rate (--rate)"


def _warning(summary: Summary) -> str:
    """Return in how many rounds training diverged, or nothing where it seldom did."""
    if not mostly_diverged(summary):
        return ""
    rounds = f"{summary['diverged']:,} of {summary['rounds']:,} rounds"
    return f"training diverged in {rounds}: {divergence_advice(summary['attack'] is not None)}"


def _accuracy(summed: AccuracySummary | None, meaning: str = "", among: str = "") -> str:
    """Return an accuracy in words, with what final means and whose it is, or nothing."""
    if summed is None:
        return ""
    best, final, median = (_percent(summed[name]) for name in ("best", "final", "median"))
    first = summed.get("first_round") or 1  # summaries of earlier versions do not say so
    since = f", measured from round {first} on" if first > 1 else ""
    return f"best {best}, final {final}{meaning}, median {median}{among}{since}"


def _drift(summary: Summary) -> str:
    """Return how often data changed and what came of it, or nothing where they did not."""
    counts = {
        "shifted": summary["shifted"],
        "detected": summary["detected"],
        "placed again": summary["placed_again"],
        "migrated": summary["migrations"],
    }
    if summary["shift"] is None and not summary["detected"]:
        return ""
    known = {what: number for what, number in counts.items() if number is not None}
    told = ", ".join(f"{number:,} {what}" for what, number in known.items())
    return f"{told} (clients, over all rounds)"


def _honest(summary: Summary) -> str:
    """Return the accuracy of clients that do not attack, or nothing where none does."""
    attack = summary["attack"]
    if attack is None or summary["honest"] is None:
        return ""
    others = clients_text([attack["clients"]])
    without = f" without the {others} that attack ({attack['name']})"
    return _accuracy(summary["honest"], among=without)


def _refused(summary: Summary) -> str:
    """Return how many answers were not accepted and why, or nothing where all were."""
    told = [f"{number:,} {REASONS[why]}" for why, number in summary["rejected"].items() if number]
    told += [f"{summary['clipped']:,} only shortened"] if summary["clipped"] else []
    some = summary["rejected"]["not_finite"] > 0 and not mostly_diverged(
        summary
    )  # of which it is said
    counted = (
        f"{', '.join(told)} (answers, over all rounds){f'; {divergence_advice()}' if some else ''}"
    )
    return counted if told else ""


def _privacy(privacy: PrivacySummary | None) -> str:
    """Return what is promised, or nothing."""
    if privacy is None:
        return ""
    told = f"{privacy['releases']} updates of the client that sent most"
    return f"epsilon {_number(privacy['epsilon'])} at delta {privacy['delta']:.2g}, from {told}"


def _traffic(traffic: TrafficSummary) -> str:
    down, up = lines.bytes_text(traffic["down_bytes"]), lines.bytes_text(traffic["up_bytes"])
    times = f"{traffic['relative_to_fedavg']:.2f} times FedAvg's"
    return f"{traffic['transfers']:,} model transfers, {times}; {down} down, {up} up"


def clients_text(numbers: Sequence[int]) -> str:
    """Return numbers of clients in words, one by one where they are few."""
    if len(numbers) > MANY and min(numbers) < max(numbers):
        return f"{min(numbers):,} to {max(numbers):,} clients"
    if len(numbers) > MANY:
        return f"{clients_text(numbers[:1])} each"
    *others, last = (f"{number:,}" for number in numbers)
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{listed} {'client' if listed == '1' else 'clients'}"


def _unplaced(summary: Summary) -> str:
    """Say why there is no accuracy: somebody that is present has no group."""
    return (
        f"not measured, because only {summary['placed']:,} of {summary['clients']:,} clients have "
        "a group so far: run more rounds, or cohorts that visit everybody "
        "(run.cohorts=round-robin-then-uniform)"
    )


def _reached(rounds_to: Mapping[str, int | None]) -> str:
    """Return when each accuracy was reached."""
    reached = [
        f"{float(threshold):.0%} in round {number}"
        for threshold, number in rounds_to.items()
        if number is not None
    ]
    return ", ".join(reached or [f"never {float(min(rounds_to)):.0%}"])


def _percent(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"
