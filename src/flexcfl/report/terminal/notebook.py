"""A run as notebooks show it: its results as a table, and its accuracy as a small drawing."""

from html import escape

import numpy as np

from flexcfl.report.charts.palette import COLOURS
from flexcfl.report.charts.sketch import sketch
from flexcfl.report.terminal.results import Finished, results

__all__ = ["html"]


def html(run: Finished) -> str:
    """Return a table without any script, so that it is also seen where none may run."""
    summary = run.summary
    names = " on ".join([summary["algorithm"], f"{summary['dataset']}, {summary['model']}"])
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text.plain)}</td></tr>'
        for name, text in results(run).items()
    )
    head = f"<p><strong>{escape(names)}</strong>, {summary['rounds']} rounds</p>"
    return f"<div>{head}{_curve(run)}<table>{lines}</table></div>"


def _curve(run: Finished) -> str:
    values = run.rounds["accuracy"].astype(np.float64)
    accuracy = run.accuracy
    if accuracy.best is None:
        return ""
    final = "" if accuracy.final is None else f", final {accuracy.final:.1%}"
    what = f"accuracy over {len(values)} rounds{final}, best {accuracy.best:.1%}"
    drawn = sketch(values, COLOURS[0], what)
    return f"<figure style='margin:0'>{drawn}<figcaption>{what}</figcaption></figure>"
