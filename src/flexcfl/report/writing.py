"""The page as a file."""

from collections.abc import Iterable
from pathlib import Path

from flexcfl.report.book import Book
from flexcfl.report.page import html
from flexcfl.runner.folder import write as write_file

__all__ = ["REPORT", "write"]

REPORT = "report.html"


def write(paths: Iterable[Path], out: Path, name: str | None = None) -> Book:
    """Write the page of the runs in these folders, or within them, and return what is in it."""
    book = Book.of(paths)
    write_file(out.parent, out.name, html(book, name).encode())
    return book
