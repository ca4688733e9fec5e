"""The table of a comparison, with who failed and why, versions and machine, as Markdown."""

import os
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from contestants.catalogue import PLAIN, Entry
from contestants.match import Match
from contestants.process import Answer

__all__ = ["load", "markdown"]


def markdown(
    entries: Mapping[str, Entry],
    matches: Sequence[Match],
    titles: Mapping[str, str],
    absent: Mapping[str, str],
) -> str:
    """Return the tables, and notes on contestants that are missing or differ."""

    def time(match: Match, answers: Sequence[Answer]) -> str:
        value = _microseconds(answers)
        plain = match.answers.get(PLAIN)
        ratio = f" ({_number(value / _microseconds(plain))})" if plain else ""
        return _number(value) + ratio

    def accuracy(match: Match, answers: Sequence[Answer]) -> str:
        return f"{100 * answers[-1].accuracy:.1f} %"

    given = entries, matches, titles
    parts = [
        "Microseconds per client step (one mini-batch of one client), median of the rounds; in "
        "brackets the ratio to the plain loop on one thread.",
        _table(*given, time),
        "How many of the probe's test examples the global model knows after the last round, to "
        "show that all have trained.",
        _table(*given, accuracy),
        _list("Notes", _notes(entries, matches, titles, absent)),
        _list("Versions", _versions(entries, matches)),
    ]
    return "\n\n".join(part for part in parts if part)


def _list(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{heading}:", "", *lines]) if lines else ""


def load() -> str:
    """Return how many processes have wanted a core in the last minute, where the system tells."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _microseconds(answers: Sequence[Answer]) -> float:
    return median(answer.microseconds for answer in answers)


def _number(value: float) -> str:
    """Write a figure with two or three digits that mean something."""
    if value < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 100 else f"{float(f'{value:.3g}'):,.0f}"


def _table(
    entries: Mapping[str, Entry],
    matches: Sequence[Match],
    titles: Mapping[str, str],
    cell: Callable[[Match, Sequence[Answer]], str],
) -> str:
    lines = [
        "| | " + " | ".join(titles[match.work] for match in matches) + " |",
        "|---" * (len(matches) + 1) + "|",
    ]
    for name, entry in entries.items():
        versions = {n: v for match in matches for n, v in match.versions.get(name, {}).items()}
        cells = [
            cell(match, match.answers[name]) if match.answers.get(name) else "-"
            for match in matches
        ]
        lines.append(f"| {entry.label(versions)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _notes(
    entries: Mapping[str, Entry],
    matches: Sequence[Match],
    titles: Mapping[str, str],
    absent: Mapping[str, str],
) -> list[str]:
    notes = []
    for name, entry in entries.items():
        remarks = [entry.note] if entry.note else []
        remarks += [absent[name]] if name in absent else []
        remarks += [
            f"{titles[match.work]}: {match.failures[name]}"
            for match in matches
            if name in match.failures
        ]
        if remarks:
            notes.append(f"- {entry.label({})}: {'; '.join(remarks)}.")
    return notes


def _versions(entries: Mapping[str, Entry], matches: Sequence[Match]) -> list[str]:
    found = {name: match.versions[name] for match in matches for name in match.versions}
    return [
        f"- {entries[name].label({})}: " + ", ".join(f"{p} {v}" for p, v in packages.items())
        for name, packages in found.items()
    ]
