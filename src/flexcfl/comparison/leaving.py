"""What a comparison leaves beside its runs: a table, a description, a page."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexcfl.comparison import table
from flexcfl.comparison.plan import Planned, own, shared
from flexcfl.comparison.result import Comparison
from flexcfl.protocol import Flags
from flexcfl.report.page import Report, html
from flexcfl.report.page.page import REPORT

__all__ = ["CSV", "JSON", "REPORT", "files"]

CSV, JSON = "comparison.csv", "comparison.json"


def files(
    runs: Sequence[Planned], comparison: Comparison, folder: Path
) -> Iterator[tuple[str, bytes]]:
    """Yield the names of the files and their contents; what comes last says that all are there."""
    summaries = [summary for each in comparison.compared.values() for summary in each]
    described = json.dumps(_described(runs, comparison), indent=2, allow_nan=False)
    yield CSV, table.csv(summaries).encode()
    report = Report.of(folder / run.folder for run in runs)
    yield REPORT, html(report, beside=folder).encode()
    yield JSON, f"{described}\n".encode()


def _described(runs: Sequence[Planned], comparison: Comparison) -> dict[str, Any]:
    """Return the settings that all runs share, and for each algorithm its own and its figures.

    ``compared`` says over which rounds accuracies are: how many there are, from which to which.
    """
    common = shared([run.experiment for run in runs])
    experiments = {run.algorithm: run.experiment for run in runs}
    return {
        "seeds": sorted({run.seed for run in runs}),
        "settings": common,
        "compared": _rounds(comparison.measured),
        "algorithms": {
            row.algorithm: {
                "settings": own(experiments[row.algorithm], common),
                "figures": row.figures(),
            }
            for row in comparison.table
        },
    }


def _rounds(measured: Flags) -> dict[str, int | None]:
    numbers = (np.flatnonzero(measured) + 1).tolist()
    first, last = (numbers[0], numbers[-1]) if numbers else (None, None)
    return {"rounds": len(numbers), "first_round": first, "last_round": last}
