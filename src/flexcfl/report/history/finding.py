"""Which runs there are: folders of runs read in outline, with who is at work in them."""

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

__all__ = ["History", "folders_of_runs", "read_runs", "runs"]

DEFAULT_FOLDERS = (Path("runs"), Path("comparisons"))  # where commands leave runs
Read = TypeVar("Read")


@dataclass(frozen=True)
class History:
    """Runs, the newest first; ``left_out`` says in sentences which cannot be read, and why."""

    rows: Sequence[RunRow]
    left_out: Sequence[str] = ()

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "History":
        """Return the runs in these folders, or within them, as ``read_runs`` has them."""
        rows, left_out = read_runs(paths, _row)
        return cls(newest_first(rows), left_out)

    def view(
        self,
        where: Iterable[str] = (),
        sort: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[RunRow]:
        """Return the runs of which all conditions are true, in an order, and at most so many."""
        if limit is not None and limit < 1:
            raise SettingsError(f"limit must be at least 1, not {limit}: leave it out to see all.")
        rows = matching_rows(self.rows, where)
        checked_key(sort_key(sort or "when"), self.rows)  # of all, for none may be left
        return sorted_rows(rows, sort or "when", reverse)[:limit]


def read_runs(paths: Iterable[Path], read: Callable[[Path], Read]) -> tuple[list[Read], list[str]]:
    """Return the runs in these folders, or within them, and sentences on those left out.

    A run that cannot be read is an error where it was named, and left out where it is one of
    those in a folder.
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
    """Return the runs in some folders, finished or not, as rows of settings and figures.

    Args:
        folders: Folders of runs, or with runs in them; by default ``runs`` and ``comparisons``.
        where: Conditions, such as ``"algorithm=flexcfl"`` or ``"final>=0.9"``.
        sort: A setting or a figure; by default the newest come first.
        reverse: The other way round.
        limit: At most so many.

    Runs whose files are damaged are left out, with a warning.

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
    """Return the folders to look into: those that are named, or those that commands make."""
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
    held = is_held(path)  # before it is read: one that is finished meanwhile was not interrupted
    run = read_outline(path)
    return row_of(run, held, run.so_far if run.summary is None else run.summary)


def _has_runs(path: Path) -> bool:
    with suppress(SettingsError):
        return bool(find_runs([path]))
    return False
