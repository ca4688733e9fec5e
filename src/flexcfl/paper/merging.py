"""Merge results of several machines into one folder: runs become records, all tables are remade."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from flexcfl.errors import SettingsError
from flexcfl.lines import tell
from flexcfl.paper.catalogue import ROWS
from flexcfl.paper.cells import RUNS, Cell
from flexcfl.paper.records import record_file, to_json_lines
from flexcfl.paper.reproducing import complete_rows, write_target
from flexcfl.paper.results import Result, check_same, finished_results, group_by
from flexcfl.paper.targets import TARGETS, Request
from flexcfl.record import run_folders
from flexcfl.record.folder import write
from flexcfl.record.lock import locked
from flexcfl.record.reading import is_finished
from flexcfl.runner.console_run import show_loading


def merge(sources: Sequence[Path], folder: Path, console: Console) -> list[Path]:
    """Add the finished runs of ``sources`` to the records of ``folder``, and remake its tables.

    Nothing is written if two runs of one cell have different figures, or if versions differ.
    """
    for source in sources:
        if not (source / RUNS).is_dir():
            raise SettingsError(
                f"'{source}' has no folder '{RUNS}': name the folder of a reproduction."
            )
    run_folders.make_folder(folder)
    with locked(folder):
        with show_loading(console, "Reading runs"):
            found = _joined([folder, *sources])
        _check_nothing_is_lost(folder, found)
        for source in sources:
            _tell_left_out(source, found, console)
        _write([result for result, _ in found.values()], folder, console)
        return [path for target in TARGETS for path in _write_again(target, console, folder)]


def _joined(folders: Iterable[Path]) -> Mapping[Cell, tuple[Result, Path]]:
    """Return every run that a table or a figure has without --choose, with its first folder."""
    parts = [
        part
        for target in TARGETS.values()
        for row in target.rows
        for part in target.parts(ROWS[row])
    ]
    found: dict[Cell, tuple[Result, Path]] = {}
    for folder in folders:
        for result in finished_results(folder, parts):
            known, before = found.setdefault(result.cell, (result, folder))
            check_same(known, before, result, folder)
    _check_versions(list(found.values()))
    return found


def _check_versions(found: Sequence[tuple[Result, Path]]) -> None:
    by_versions = {
        ", ".join(f"{name} {version}" for name, version in result.summary["versions"].items()): at
        for result, at in found
    }
    if len(by_versions) > 1:
        several = " and ".join(f"{versions} (in '{at}')" for versions, at in by_versions.items())
        raise SettingsError(
            f"These results were made by different versions, {several}: make all of them with one."
        )


def _check_nothing_is_lost(folder: Path, found: Iterable[Cell]) -> None:
    """Raise if a table shows runs that have neither a folder nor a record."""
    names = ("setting", "method", "rounds", "seed")
    known = {
        (cell.part.setting, cell.part.name, f"{cell.rounds}", f"{cell.seed}") for cell in found
    }
    for target in TARGETS:
        file = folder / f"{target}-runs.csv"
        if not file.is_file():
            continue
        with file.open(newline="", encoding="utf-8") as lines:
            shown = {tuple(line[name] for name in names) for line in csv.DictReader(lines)}
        if shown - known:
            raise SettingsError(
                f"'{file}' shows {len(shown - known)} runs that have no record, and the new table "
                "would lose them: merge into another folder with --out."
            )


def _tell_left_out(source: Path, found: Iterable[Cell], console: Console) -> None:
    """Say how many finished runs are left out, such as those with other choices."""
    folders = {
        path.relative_to(source).as_posix()
        for path in (source / RUNS).glob("*/*")
        if path.is_dir() and is_finished(path)
    }
    number = len(folders - {cell.folder for cell in found})
    if number:
        runs, are = ("1 run", "is") if number == 1 else (f"{number} runs", "are")
        tell(f"{runs} of '{source}' {are} in no table without --choose, and left out", console)


def _write(results: Sequence[Result], folder: Path, console: Console) -> None:
    """Write the records, setting by setting."""
    for setting, mine in group_by(results, lambda result: result.cell.part.setting).items():
        content = to_json_lines([result.record for result in mine])
        write(folder, record_file(folder, setting).relative_to(folder).as_posix(), content)
    tell(f"{len(results)} runs in '{folder / RUNS}'", console)


def _write_again(target: str, console: Console, folder: Path) -> list[Path]:
    """Make a table or a figure of the complete rows, if there are any."""
    rows = complete_rows(Request(target, tuple(TARGETS[target].rows)), folder)
    return write_target(Request(target, rows), console, folder) if rows else []
