"""The server's guards: which answers of clients reach an algorithm, and why others do not."""

from flexcfl.trust.guards.admission import Admission, Guards, admitted
from flexcfl.trust.guards.review import REASONS

__all__ = ["REASONS", "Admission", "Guards", "admitted"]
