"""Which runs there are: folders of runs read in outline, with who is at work in them."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Tables
from flexcfl.record.figures import figures_in
from flexcfl.record.folder import EXPERIMENT, SUMMARY
from flexcfl.record.lock import is_held
from flexcfl.record.runs import damage_told, found, outline
from flexcfl.record.state import state_of
from flexcfl.record.summary import RoundsSummary, of_rounds
from flexcfl.record.tables import ROUNDS, RoundFigures
from flexcfl.report.history.conditions import chosen, conditions
from flexcfl.report.history.order import by_time, key_of, ordered
from flexcfl.report.history.row import Row, flat_settings, known_key

__all__ = ["PLACES", "History", "places", "reached", "runs", "when"]

PLACES = (Path("runs"), Path("comparisons"))  # where commands leave runs unless told otherwise


@dataclass(frozen=True)
class History:
    """Runs, the newest first; ``left_out`` says in sentences which cannot be read, and why."""

    rows: Sequence[Row]
    left_out: Sequence[str] = ()

    @classmethod
    def of(cls, paths: Iterable[Path]) -> "History":
        """Return the runs in these folders, or within them.

        A run that cannot be read is an error where it was named, and left out where it is one of
        those in a folder.
        """
        paths, rows, refused = list(paths), [], []
        for path in found(paths):
            try:
                rows.append(_row(path))
            except SettingsError as error:
                if path in paths:
                    raise
                refused.append(error)
        if not rows:
            raise refused[0]
        return cls(by_time(rows), [str(error) for error in refused])

    def view(
        self,
        where: Iterable[str] = (),
        sort: str | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[Row]:
        """Return the runs of which all conditions are true, in an order, and at most so many."""
        if limit is not None and limit < 1:
            raise SettingsError(f"limit must be at least 1, not {limit}: leave it out to see all.")
        rows = chosen(self.rows, conditions(where, self.rows))
        known_key(key_of(sort or "when"), self.rows)  # of all, for none may be left
        return ordered(rows, sort or "when", reverse)[:limit]


def runs(
    *folders: str | Path,
    where: Iterable[str] = (),
    sort: str | None = None,
    reverse: bool = False,
    limit: int | None = None,
) -> list[Row]:
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
    history = History.of(places(folders))
    for sentence in history.left_out:
        warnings.warn(sentence, stacklevel=2)
    return history.view(where, sort, reverse, limit)


def places(folders: Iterable[str | Path]) -> list[Path]:
    """Return the folders to look into: those that are named, or those that commands make."""
    named = [Path(each) for each in folders]
    there = named or [each for each in PLACES if each.is_dir()]
    if not there:
        raise SettingsError(
            "There is no folder 'runs' or 'comparisons' here: name a folder with runs in it, or "
            "make a run with 'flexcfl run'."
        )
    if named or len(there) == 1:
        return there
    return [each for each in there if _has_runs(each)] or there[:1]


def reached(rounds: Sequence[RoundFigures], tables: Tables) -> RoundsSummary:
    """Return what a run reached so far, as its summary will have it."""
    cohort = tables["run"]["cohort"]
    if cohort < 1:
        raise ValueError(f"[run] cohort {cohort}")
    return of_rounds(rounds, cohort)


def when(path: Path) -> datetime:
    """Return when a run was finished, or else when it last went on."""
    times = {name: _time(path / name) for name in (SUMMARY, ROUNDS, EXPERIMENT)}
    known = [time for time in times.values() if time is not None]
    return datetime.fromtimestamp(known[0] if known else 0.0).astimezone()


def _time(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def _row(path: Path) -> Row:
    held = is_held(path)  # before it is read: one that is finished meanwhile was not interrupted
    read = outline(path)
    with damage_told(path):
        known = reached(read.rounds, read.settings) if read.summary is None else read.summary
        return Row(
            path,
            state_of(read.summary is not None, held),
            when(path),
            flat_settings(read.settings),
            figures_in(known),
            read.summary,
        )


def _has_runs(path: Path) -> bool:
    try:
        return bool(found([path]))
    except SettingsError:
        return False
