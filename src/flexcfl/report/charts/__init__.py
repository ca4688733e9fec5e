"""The charts of runs for Plotly: pure functions from figures to plain values."""

from collections.abc import Callable, Mapping, Sequence

from flexcfl.errors import SettingsError, unknown
from flexcfl.record.record import Record
from flexcfl.report.charts import curves, groups, moves
from flexcfl.report.charts.figure import Chart

__all__ = ["OF_METHODS", "OF_RUN", "Chart", "chart"]

OF_METHODS: Mapping[str, Callable[[Sequence[Record]], Chart]] = {
    "accuracy": curves.accuracy,
    "traffic": curves.traffic,
    "loss": curves.loss,
    "discrepancy": curves.discrepancy,
}
"""The charts that compare methods."""
OF_RUN: Mapping[str, Callable[[Record], Chart]] = {
    "group-accuracy": groups.accuracies,
    "group-size": groups.sizes,
    "moves": moves.moves,
    "changes": moves.changes,
    "flows": moves.flows,
    "founders": groups.founders,
    "labels": groups.labels,
}
"""The charts of one run."""
# Charts that need a table which a run may lack, and the reason why it lacks it.
NEEDED = {
    "founders": "its groups were not found by clustering updates, or it is not finished yet",
    "labels": "only the clients themselves know their labels",
}


def chart(name: str, records: Sequence[Record]) -> Chart:
    """Return a chart of runs.

    Args:
        name: One of ``OF_METHODS``, which compare all runs, or of ``OF_RUN``, which show only the
            first run.
        records: The runs.

    Returns:
        The chart; ``chart.figure`` is what Plotly takes.

    Raises:
        SettingsError: If there is no such chart, or the run does not have it.

    """
    if not isinstance(name, str):
        raise SettingsError(
            f"The name of a chart must be a string, not of type {type(name).__name__}: give one "
            "such as 'accuracy' or 'moves'."
        )
    if name in OF_METHODS:
        return OF_METHODS[name](records)
    if name not in OF_RUN:
        raise SettingsError(unknown("chart", name, [*OF_METHODS, *OF_RUN]))
    if name in NEEDED and not _has(records[0], name):
        raise SettingsError(f"This run has no chart '{name}': {NEEDED[name]}.")
    return OF_RUN[name](records[0])


def charts_of_run(record: Record) -> list[Chart]:
    """Return all charts of a run; with a single group, there are no moves between groups."""
    there = [name for name in OF_RUN if name not in NEEDED or _has(record, name)]
    if record.group_count < 2:
        there.remove("flows")
    return [OF_RUN[name](record) for name in there]


def _has(record: Record, table: str) -> bool:
    return len(getattr(record, table)["client"]) > 0
