"""The page as a file."""

import stat
from collections.abc import Iterable
from pathlib import Path

from flexcfl.errors import SettingsError
from flexcfl.record.folder import write as write_file
from flexcfl.report.page.book import Book
from flexcfl.report.page.page import html

__all__ = ["REPORT", "write"]

REPORT = "report.html"


def write(paths: Iterable[Path], out: Path, name: str | None = None) -> Book:
    """Write the page of the runs in these folders, or within them, and return what is in it."""
    if out.is_dir() or not out.name:
        raise SettingsError(f"'{out}' is a folder: name the file to write, such as {out / REPORT}.")
    _check_regular(out)
    book = Book.of(paths)
    # A name from the command line may hold bytes that are no text.
    write_file(out.parent, out.name, html(book, name).encode("utf-8", "replace"))
    return book


def _check_regular(out: Path) -> None:
    """Refuse to put a file in the place of /dev/null, /dev/stdout or a pipe, which root could."""
    try:
        mode = out.lstat().st_mode
    except (OSError, ValueError):  # there is nothing, or writing it will say what is wrong
        return
    if not stat.S_ISREG(mode):
        raise SettingsError(
            f"'{out}' is a link, a device or a pipe, which a page would replace: name a file to "
            "write, such as report.html."
        )
