"""The networks of the paper as plain torch modules (Section 5.1, Table 2), and custom ones."""

from flexcfl.models.catalogue import build
from flexcfl.models.networks import initialised
from flexcfl.models.vetting import check

__all__ = ["build", "check", "initialised"]
