"""What made the figures: the commands, the versions and the machine."""

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from flexcfl.paper.choices import Chosen
from flexcfl.paper.results import Result
from flexcfl.paper.rows import ROUNDS, family
from flexcfl.record import csv_lines as tables
from flexcfl.record.metrics import rounds_to
from flexcfl.record.summary import Summary

__all__ = ["command", "runs", "told"]

GOALS = ("0.8", "0.85", "0.9")


def told(target: str, rows: Sequence[str], chosen: Chosen, results: Sequence[Result]) -> list[str]:
    """Return sentences on the commands that give these results, and on what computed them.

    ``rows`` are those that were asked for by name, which counts where there are no results.
    """
    commands = _commands(target, chosen, results) or [command(target, rows)]
    by = f"Made by {' and '.join(f'`{each}`' for each in commands)}."
    return [by, _computed(results) if results else _this_machine()]


def _this_machine() -> str:
    from flexcfl.benchmark.machine import machine  # torch comes along with it

    return f"This machine: {machine()}."


def _computed(results: Sequence[Result]) -> str:
    """Say by which versions and on which kinds of processor all runs were made."""
    made = dict.fromkeys(_made_by(result.summary) for result in results)
    return f"Computed by {' and by '.join(made)}."


def _made_by(summary: Summary) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    return f"{versions} on {summary['processor']}" if "processor" in summary else versions


def _commands(target: str, chosen: Chosen, results: Sequence[Result]) -> list[str]:
    """Return one command for all rows that have the same seeds and rounds."""
    seeds: dict[tuple[str, int], int] = {}
    for result in results:
        key = (family(result.cell.part.row), result.cell.rounds)
        seeds[key] = max(seeds.get(key, 0), result.cell.seed + 1)
    groups: dict[tuple[int, int], list[str]] = {}
    for (row, rounds), number in seeds.items():
        groups.setdefault((rounds, number), []).append(row)
    return [command(target, rows, *how, chosen) for how, rows in groups.items()]


def command(
    target: str,
    rows: Sequence[str] = (),
    rounds: int = ROUNDS,
    seeds: int = 1,
    chosen: Chosen = (),
) -> str:
    """Return the command that reproduces rows of a target."""
    words = [f"flexcfl reproduce {target}"]
    words += [f"--only {','.join(rows)}"] if rows else []
    words += [f"--seeds {seeds}"] if seeds > 1 else []
    words += [f"--rounds {rounds}"] if rounds != ROUNDS else []
    words += [f"--choose {name}={value}" for name, value in chosen]
    return " ".join(words)


def runs(results: Sequence[Result]) -> str:
    """Return a line for each run."""
    lines = [_figures(result) for result in results]
    return tables.written([list(lines[0]), *(list(line.values()) for line in lines)])


def _figures(run: Result) -> dict[str, object]:
    """Return what a run is and its figures, by their names.

    Accuracies and what is made of them are over the shared rounds. ``area`` is the area under the
    curve of accuracy by the number of these rounds, which is the mean.
    """
    part, summary, accuracy = run.cell.part, run.summary, asdict(run.accuracy)
    reached = rounds_to(run.curve, GOALS).items()
    return {
        "setting": part.setting,
        "method": part.name,
        "rounds": run.cell.rounds,
        "seed": run.cell.seed,
        **accuracy,
        "area": None if accuracy["best"] is None else float(np.nanmean(run.curve)),
        **{f"rounds_to_{goal}": number for goal, number in reached},
        "loss": summary["loss"],
        "discrepancy": summary["discrepancy"]["mean"],
        **summary["traffic"],
        **{name: summary[name] for name in ("shifted", "detected", "migrations")},
        "largest_group": run.largest_group,
        "processor": summary.get("processor", ""),  # which earlier versions do not tell
        "seconds": summary["seconds"],
    }
