"""A page to look at: what runs show, in one file or followed while they go on."""

from flexcfl.report.page.book import Book
from flexcfl.report.page.page import Table, html

__all__ = ["Book", "Table", "html"]
