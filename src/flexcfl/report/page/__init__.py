"""The report page of runs: one HTML file, or a live page that follows them."""

from flexcfl.report.page.content import Report
from flexcfl.report.page.page import PageTable, html

__all__ = ["PageTable", "Report", "html"]
