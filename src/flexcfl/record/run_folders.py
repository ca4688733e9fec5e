"""Names and folders of runs: made if they are free, removed if they stay empty."""

import itertools
import re
import shlex
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexcfl import disk
from flexcfl.errors import SettingsError

# Names that Windows reserves for devices, in upper or lower case and with any ending.
DEVICES = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)
CHECKPOINTS = "checkpoints"  # a folder within the folder of an unfinished run
# Folders of local nodes within the folder of their run, made before the run begins.
LOGS, NODES = "logs", "nodes"


def check_free(path: Path, but: Collection[str] = ()) -> None:
    """Raise ``SettingsError`` if a folder is not empty, before any work is done for it.

    It may contain folders named in ``but``, from those who prepared it.
    """
    with as_folder_error(path):
        used = path.exists() and not (
            path.is_dir() and all(each.name in but for each in path.iterdir())
        )
    if used:
        raise SettingsError(folder_taken(path))


def safe_name(parts: Iterable[str]) -> str:
    """Return a file name that every file system accepts, whatever the parts contain.

    >>> safe_name(["package.module:entry", "digits"]), safe_name(["aux.model:make"])
    ('package.module-entry-digits', '_aux.model-make')
    >>> safe_name(["..."])
    'unnamed'
    """
    whole = re.sub(r"[^\w.-]+", "-", "-".join(parts), flags=re.ASCII).strip(".-")
    free = f"_{whole}" if DEVICES.fullmatch(whole.partition(".")[0]) else whole
    return free[:100].rstrip(".-") or "unnamed"


def distinct_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name for each name, distinct even if upper and lower case are the same.

    >>> distinct_names(["fedavg", "mine:Entry", "mine:entry"])
    {'fedavg': 'fedavg', 'mine:Entry': 'mine-Entry', 'mine:entry': 'mine-entry-2'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = safe_name([name])
        numbered = (f"{plain}-{number}" for number in itertools.count(2))
        found[name] = next(
            each for each in itertools.chain([plain], numbered) if each.lower() not in taken
        )
        taken.add(found[name].lower())
    return found


def make_run_folder(
    out: Path | None, default: Path, but: Collection[str] = ()
) -> tuple[Path, list[Path]]:
    """Make the folder ``out``, or by default the first free one of ``default`` and a number.

    Returns the folder and all folders that were made for it, innermost first.
    """
    if out is not None:
        check_free(out, but)
        return make_folder(out)
    parent, above = make_folder(default.parent)
    # Trying instead of looking, so that runs that start at the same moment get different folders.
    for number in itertools.count(1):
        candidate = parent / f"{default.name}-{number}"
        with as_folder_error(candidate), suppress(FileExistsError):
            candidate.mkdir()
            disk.flush(parent)
            break
    return candidate, [candidate, *above]


def make_folder(path: Path) -> tuple[Path, list[Path]]:
    """Make a folder if it is missing; return it and all folders that were made for it."""
    with as_folder_error(path):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        try:
            path.mkdir(parents=True, exist_ok=True)
            for folder in reversed(missing):
                disk.flush(folder.parent)
        except OSError:
            remove(folder for folder in missing if folder.exists())
            raise
    return path, missing


def remove(folders: Iterable[Path]) -> None:
    """Remove folders up to the first that is not empty."""
    with suppress(OSError):  # not empty: something else is in it
        for folder in folders:
            folder.rmdir()


@contextmanager
def as_folder_error(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` about a folder into a ``SettingsError``."""
    try:
        yield
    except OSError as error:
        where = f": '{error.filename}'" if error.filename else ""
        raise SettingsError(
            f"The folder '{path}' cannot be used ({error.strerror}{where}): "
            "choose another with --out."
        ) from None


def folder_taken(path: Path) -> str:
    """Return the error message for a folder that is not empty."""
    unfinished = f", resume it ({resume_command(path)})" if (path / CHECKPOINTS).is_dir() else ""
    return (
        f"'{path}' exists already and is not an empty folder: "
        f"choose another with --out{unfinished}, or move it away."
    )


def resume_command(folder: Path) -> str:
    """Return the command that resumes the run in a folder, quoted for a shell."""
    name = str(folder)
    # A name that begins with a dash would be taken for an option.
    return f"flexcfl resume {shlex.quote(f'./{name}' if name.startswith('-') else name)}"
