"""The server's guards: which answers of clients reach an algorithm, and why others do not."""

from flexcfl.trust.guards.admission import REASONS, Admission, Guards, admitted

__all__ = ["REASONS", "Admission", "Guards", "admitted"]
