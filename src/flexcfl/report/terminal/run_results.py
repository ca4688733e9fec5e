"""The results of a finished run, for a terminal and for a notebook."""

from collections.abc import Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from flexcfl.errors import printable
from flexcfl.experiment.experiment import Experiment
from flexcfl.lines import unbroken
from flexcfl.protocol import NO_GROUP, Ids, Vector
from flexcfl.record.summary import Summary
from flexcfl.record.tables import Columns
from flexcfl.report.charts.palette import COLOURS
from flexcfl.report.terminal.setting_rows import Rows
from flexcfl.report.terminal.summary_text import clients_text, summary_rows

WIDTH, HEIGHT, EDGE = 360, 96, 4  # pixels of a curve in a notebook


class _FinishedRun(Protocol):
    """The parts of a finished run that are shown."""

    @property
    def experiment(self) -> Experiment: ...
    @property
    def summary(self) -> Summary: ...
    @property
    def rounds(self) -> Columns: ...
    @property
    def models(self) -> Sequence[Vector]: ...
    @property
    def group_of(self) -> Ids: ...
    @property
    def waiting(self) -> tuple[int, ...]: ...
    @property
    def folder(self) -> Path | None: ...


def result_rows(run: _FinishedRun) -> Rows:
    """Return the figures of a finished run, its time and its folder."""
    return {
        **summary_rows(run.summary, run.rounds["accuracy"], _sample(run), _groups(run)),
        "time": Text(f"{run.summary['seconds']:.1f} s"),
        "folder": unbroken(printable(str(run.folder))) if run.folder else Text("none"),
    }


def _sample(run: _FinishedRun) -> str:
    """Describe the clients that are evaluated, if these are not all."""
    sample = run.experiment.run.evaluate_clients
    if sample is None:
        return ""
    tested = f"{run.rounds['tested'][-1]:,} of them had a group in the last round"
    return f"accuracies are over {sample:,} of {run.summary['clients']:,} clients; {tested}"


def _groups(run: _FinishedRun) -> str:
    """Describe the sizes and the quality of the groups; empty if there can be only one."""
    summary = run.summary
    if not fields(run.experiment.algorithm.options) and len(run.models) == 1:
        return ""
    placed = run.group_of[run.group_of != NO_GROUP]
    numbers = np.delete(np.bincount(placed, minlength=len(run.models)), run.waiting)
    members = numbers[numbers > 0]
    words = [f"{len(members)} of {clients_text(members.tolist())}"] if len(members) else []
    if len(members) < len(numbers):
        words.append(f"{len(numbers) - len(members)} without clients")
    if summary["waiting"]:
        words.append(f"{clients_text([summary['waiting']])} waiting to follow")
    if summary["placed"] < summary["clients"]:
        words.append(f"{clients_text([summary['clients'] - summary['placed']])} without a group")
    if summary["adjusted_rand_index"] is not None:
        words.append(f"adjusted Rand index {summary['adjusted_rand_index']:.3f}")
    if summary["clustering"] and summary["clustering"]["silhouette"] is not None:
        words.append(f"silhouette of the clustering {summary['clustering']['silhouette']:.2f}")
    return ", ".join(words)


def result_html(run: _FinishedRun) -> str:
    """Return an HTML table without scripts, which also works if scripts are blocked."""
    summary = run.summary
    names = " on ".join([summary["algorithm"], f"{summary['dataset']}, {summary['model']}"])
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text.plain)}</td></tr>'
        for name, text in result_rows(run).items()
    )
    head = f"<p><strong>{escape(names)}</strong>, {summary['rounds']} rounds</p>"
    return f"<div>{head}{_figure(run)}<table>{lines}</table></div>"


def _figure(run: _FinishedRun) -> str:
    """Return the accuracy over rounds as a drawing; empty if it was never measured."""
    values = run.rounds["accuracy"].astype(np.float64)
    best, final = run.summary["accuracy"]["best"], run.summary["accuracy"]["final"]
    if best is None:
        return ""
    final_text = "" if final is None else f", final {final:.1%}"
    what = f"accuracy over {len(values)} rounds{final_text}, best {best:.1%}"
    return (
        f"<figure style='margin:0'>{_curve(values, what)}<figcaption>{what}</figcaption></figure>"
    )


def _curve(values: NDArray[np.float64], what: str) -> str:
    """Return a curve over rounds as SVG, with ``what`` as its label for screen readers."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return ""
    seen = values[known]
    x = EDGE + (WIDTH - 2 * EDGE) * known / max(len(values) - 1, 1)
    y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (seen - seen.min()) / (np.ptp(seen) or 1)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(what)}"><polyline points="{points}" fill="none" '
        f'stroke="{COLOURS[0]}" stroke-width="2" stroke-linejoin="round"/></svg>'
    )
