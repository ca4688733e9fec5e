"""A summary as text: the accuracy of a run, its training, and its traffic."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from flexcfl import lines
from flexcfl.record.summary import AccuracySummary, PrivacySummary, Summary, TrafficSummary
from flexcfl.report.terminal.setting_rows import Rows

# The reasons for refusing answers, as text.
REASONS = {
    "late": "late",
    "stale": "for another round",
    "invalid": "not requested, or with unknown names",
    "shape": "of the wrong shape",
    "not_finite": "not finite",
    "norm": "too long",
    "founding": "of founders that differ from most, or copies of another's",
}
FINAL_MEANS = " (the mean of the last ten rounds)"
MANY = 12  # more groups than that are not listed one by one


def summary_rows(
    summary: Summary, accuracy: NDArray[Any], sample: str = "", groups: str = ""
) -> Rows:
    """Return a summary as rows of text, for a whole run or for the rounds so far.

    ``accuracy`` has one value per round, NaN if it was not measured.
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
    """Return whether training diverged in most rounds; older summaries do not contain this."""
    return bool(2 * summary.get("diverged", 0) > summary["rounds"])


def divergence_advice(attacked: bool = True) -> str:
    """Return what to do if training diverges; attacking clients may also be the cause."""
    return f"{'if no client is at fault, ' if attacked else ''}lower the rate (--rate)"


def _warning(summary: Summary) -> str:
    """Return in how many rounds training diverged; empty unless it did in most."""
    if not mostly_diverged(summary):
        return ""
    rounds = f"{summary['diverged']:,} of {summary['rounds']:,} rounds"
    return f"training diverged in {rounds}: {divergence_advice(summary['attack'] is not None)}"


def _accuracy(summed: AccuracySummary | None, meaning: str = "", among: str = "") -> str:
    """Describe an accuracy, what "final" means, and for which clients; empty if there is none."""
    if summed is None:
        return ""
    best, final, median = (_percent(summed[name]) for name in ("best", "final", "median"))
    first = summed.get("first_round") or 1  # older summaries do not contain this
    since = f", measured from round {first} on" if first > 1 else ""
    return f"best {best}, final {final}{meaning}, median {median}{among}{since}"


def _drift(summary: Summary) -> str:
    """Describe how often data changed and with what effect; empty if data did not change."""
    counts = {
        "shifted": summary["shifted"],
        "detected": summary["detected"],
        "placed again": summary["placed_again"],
        "migrated": summary["migrations"],
    }
    if summary["shift"] is None and not summary["detected"]:
        return ""
    known = {what: number for what, number in counts.items() if number is not None}
    text = ", ".join(f"{number:,} {what}" for what, number in known.items())
    return f"{text} (clients, over all rounds)"


def _honest(summary: Summary) -> str:
    """Describe the accuracy of the clients that do not attack; empty if none attacks."""
    attack = summary["attack"]
    if attack is None or summary["honest"] is None:
        return ""
    others = clients_text([attack["clients"]])
    without = f" without the {others} that attack ({attack['name']})"
    return _accuracy(summary["honest"], among=without)


def _refused(summary: Summary) -> str:
    """Describe how many answers were refused and why; empty if all were accepted."""
    refused = [f"{count:,} {REASONS[why]}" for why, count in summary["rejected"].items() if count]
    refused += [f"{summary['clipped']:,} only clipped"] if summary["clipped"] else []
    # A warning about divergence already gives the advice.
    advice = summary["rejected"]["not_finite"] > 0 and not mostly_diverged(summary)
    ending = f"; {divergence_advice()}" if advice else ""
    return f"{', '.join(refused)} (answers, over all rounds){ending}" if refused else ""


def _privacy(privacy: PrivacySummary | None) -> str:
    """Describe the privacy guarantee; empty if there is none."""
    if privacy is None:
        return ""
    most = f"{privacy['releases']} updates of the client that sent most"
    return f"epsilon {_number(privacy['epsilon'])} at delta {privacy['delta']:.2g}, from {most}"


def _traffic(traffic: TrafficSummary) -> str:
    down, up = lines.bytes_text(traffic["down_bytes"]), lines.bytes_text(traffic["up_bytes"])
    times = f"{traffic['relative_to_fedavg']:.2f} times FedAvg's"
    return f"{traffic['transfers']:,} model transfers, {times}; {down} down, {up} up"


def clients_text(numbers: Sequence[int]) -> str:
    """Return numbers of clients as text, one by one if there are few."""
    if len(numbers) > MANY and min(numbers) < max(numbers):
        return f"{min(numbers):,} to {max(numbers):,} clients"
    if len(numbers) > MANY:
        return f"{clients_text(numbers[:1])} each"
    *others, last = (f"{number:,}" for number in numbers)
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{listed} {'client' if listed == '1' else 'clients'}"


def _unplaced(summary: Summary) -> str:
    """Explain why there is no accuracy: a client that is present has no group."""
    return (
        f"not measured, because only {summary['placed']:,} of {summary['clients']:,} clients have "
        "a group so far: run more rounds, or use cohorts that visit every client "
        "(run.cohorts=round-robin-then-uniform)"
    )


def _reached(rounds_to: Mapping[str, int | None]) -> str:
    """Describe in which round each accuracy was reached."""
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
