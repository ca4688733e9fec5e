"""What a comparison leaves beside the folders of its runs: a table, a description, a picture."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from flexcfl.comparison import plot, table
from flexcfl.comparison.plan import Planned, own, shared
from flexcfl.comparison.result import Comparison

__all__ = ["CSV", "JSON", "SVG", "files"]

CSV, JSON, SVG = "comparison.csv", "comparison.json", "comparison.svg"


def files(runs: Sequence[Planned], comparison: Comparison) -> Mapping[str, bytes]:
    """Return the contents of the files by their names."""
    summaries = [summary for each in comparison.runs.values() for summary in each]
    described = json.dumps(_described(runs, comparison), indent=2, allow_nan=False)
    return {
        CSV: table.csv(summaries).encode(),
        SVG: plot.svg(comparison, _title(summaries)),
        JSON: f"{described}\n".encode(),
    }


def _title(summaries: Sequence[Mapping[str, Any]]) -> str:
    first, seeds = summaries[0], len({summary["seed"] for summary in summaries})
    words = [first["dataset"], first["model"], first["shift"] or "no shift"]
    return ", ".join([*words, f"{seeds} {'seed' if seeds == 1 else 'seeds'}"])


def _described(runs: Sequence[Planned], comparison: Comparison) -> dict[str, Any]:
    """Return the settings that all runs share, and for each algorithm its own and its figures."""
    common = shared([run.experiment for run in runs])
    experiments = {run.algorithm: run.experiment for run in runs}
    return {
        "seeds": sorted({run.seed for run in runs}),
        "settings": common,
        "algorithms": {
            row.algorithm: {
                "settings": own(experiments[row.algorithm], common),
                "figures": row.figures(),
            }
            for row in comparison.table
        },
    }
