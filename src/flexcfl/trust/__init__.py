"""Clients that fail or attack, answers that a server refuses, and updates that a client hides."""

from flexcfl.trust import faults, guards, privacy

__all__ = ["faults", "guards", "privacy"]
