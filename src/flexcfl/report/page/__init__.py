"""A page to look at: what runs show, in one file or followed while they go on."""

from flexcfl.report.page.page import PageTable, html
from flexcfl.report.page.report import Report

__all__ = ["PageTable", "Report", "html"]
