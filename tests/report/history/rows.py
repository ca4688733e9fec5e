"""Rows as Hypothesis draws them: any settings, any figures, some without."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from flexcfl.record.summary import FIGURES
from flexcfl.report.history import RunRow

NAMES = st.sampled_from(["flexcfl", "fedavg", "ifca", "my own", "a=b", "0.5", "[x", "none"])
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-(2**62), 2**62),
    st.floats(),
    st.booleans(),
    st.text(max_size=8),
    NAMES,
    st.lists(NAMES, max_size=3),
)
KEYS = ("algorithm.name", "run.seed", "local.rate", "shift.name", "data.partition", "mine.option")
DRAWN = ("best", "loss", "traffic", "migrations", "done")
START = datetime(2026, 1, 1, tzinfo=UTC)


def figure(name: str) -> st.SearchStrategy[float | int | None]:
    """Return what a figure can be."""
    if FIGURES[name].share:
        return st.none() | st.floats(0, 1)
    return st.none() | st.integers(0, 100) | st.floats(-10, 10)


ROWS: st.SearchStrategy[RunRow] = st.builds(
    RunRow,
    folder=st.builds(Path, st.sampled_from(["runs/a", "runs/b", "c"])),
    state=st.sampled_from(["finished", "running", "interrupted"]),
    when=st.integers(0, 10**8).map(lambda seconds: START + timedelta(seconds=seconds)),
    settings=st.fixed_dictionaries({"run.rounds": st.integers(1, 9)}).flatmap(
        lambda base: st.dictionaries(st.sampled_from(KEYS), VALUES).map(lambda more: more | base)
    ),
    # Few of them, for to draw takes longer than to test.
    figures=st.fixed_dictionaries({name: figure(name) for name in DRAWN}).map(
        lambda drawn: {**dict.fromkeys(FIGURES), **drawn}
    ),
)
