"""Find runs in folders, and read their settings, figures and state."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from flexcfl.errors import SettingsError
from flexcfl.record.lock import is_held
from flexcfl.record.reading import find_runs, read_outline
from flexcfl.report.history.rows import (
    RunRow,
    checked_key,
    matching_rows,
    newest_first,
    row_of,
    sort_key,
    sorted_rows,
)

DEFAULT_FOLDERS = (Path("runs"), Path("comparisons"))  # where commands save runs
Read = TypeVar("Read")


@dataclass(frozen=True)
class History:
    """Runs, the newest first; ``left_out`` are sentences about runs that cannot be read."""

    rows: Sequence[RunRow]
    left_out: Sequence[str] = ()

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "History":
        """Return the runs in these folders, or within them, that ``read_runs`` can read."""
        rows, left_out = read_runs(paths, _row)
        return cls(newest_first(rows), left_out)

    def view(
        self,
        where: Iterable[str] = (),
        sort: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[RunRow]:
        """Return the runs that meet all conditions, sorted, and at most ``limit`` of them."""
        if limit is not None and limit < 1:
            raise SettingsError(f"limit must be at least 1, not {limit}: leave it out to see all.")
        rows = matching_rows(self.rows, where)
        checked_key(sort_key(sort or "when"), self.rows)  # of all runs: none may match
        return sorted_rows(rows, sort or "when", reverse)[:limit]


def read_runs(paths: Iterable[Path], read: Callable[[Path], Read]) -> tuple[list[Read], list[str]]:
    """Return the runs in these folders, or within them, and sentences about those left out.

    A run that cannot be read is an error if its folder was named. It is left out if it was only
    found within a folder.
    """
    paths, runs, refused = list(paths), [], []
    for path in find_runs(paths):
        try:
            runs.append(read(path))
        except SettingsError as error:
            if path in paths:
                raise
            refused.append(error)
    if not runs:
        raise refused[0]
    return runs, [str(error) for error in refused]


def runs(
    *folders: str | Path,
    where: Iterable[str] = (),
    sort: str | None = None,
    reverse: bool = False,
    limit: int | None = None,
) -> list[RunRow]:
    """Find the runs in folders, finished or not, and return their settings and figures.

    Runs with damaged files are left out with a warning.

    Args:
        folders: Folders of runs, or with runs in them; by default ``runs`` and ``comparisons``.
        where: Conditions, such as ``"algorithm=flexcfl"`` or ``"final>=0.9"``.
        sort: A setting or a figure to sort by; by default, the newest run comes first.
        reverse: Whether to reverse the order.
        limit: The largest number of runs to return; by default all.

    Returns:
        One row for each run.

    Raises:
        SettingsError: If there are no runs, or a condition names no setting and no figure.

    Example:
        >>> import flexcfl
        >>> rows = flexcfl.report.history.runs(where=["final>=0.9"], sort="final")  # doctest: +SKIP

    """
    if isinstance(where, str):
        raise SettingsError(f"where must be a list of conditions, such as [{where!r:.60}].")
    history = History.of(folders_of_runs(folders))
    for sentence in history.left_out:
        warnings.warn(sentence, stacklevel=2)
    return history.view(where, sort, reverse, limit)


def folders_of_runs(folders: Iterable[str | Path]) -> list[Path]:
    """Return the folders to search: the given ones, or the default folders of the commands."""
    named = [Path(each) for each in folders]
    there = named or [each for each in DEFAULT_FOLDERS if each.is_dir()]
    if not there:
        raise SettingsError(
            "There is no folder 'runs' or 'comparisons' here: name a folder with runs in it, or "
            "make a run with 'flexcfl run'."
        )
    if named or len(there) == 1:
        return there
    return [each for each in there if _has_runs(each)] or there[:1]


def _row(path: Path) -> RunRow:
    held = is_held(path)  # before reading: a run that finishes meanwhile was not interrupted
    run = read_outline(path)
    return row_of(run, held, run.so_far if run.summary is None else run.summary)


def _has_runs(path: Path) -> bool:
    with suppress(SettingsError):
        return bool(find_runs([path]))
    return False
