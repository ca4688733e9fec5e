"""The server's guards: what of clients' answers reaches an algorithm, and why not the rest."""

from flexcfl.trust.guards.admission import REASONS, Admission, Guards, admitted

__all__ = ["REASONS", "Admission", "Guards", "admitted"]
