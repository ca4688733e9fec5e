"""The server's guards: what of clients' answers reaches an algorithm, and why not the rest."""

from flexcfl.trust.guards.admission import REASONS, Admission, admitted
from flexcfl.trust.guards.options import Guards

__all__ = ["REASONS", "Admission", "Guards", "admitted"]
