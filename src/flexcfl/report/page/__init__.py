"""A page to look at: what runs show, in one file or followed while they go on."""

from flexcfl.report.page.content import Report
from flexcfl.report.page.page import PageTable, html

__all__ = ["PageTable", "Report", "html"]
