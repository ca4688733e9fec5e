"""Nobody is trusted: clients that fail or attack, what a server refuses, what a client hides."""

from flexcfl.trust import faults, guards, privacy

__all__ = ["faults", "guards", "privacy"]
