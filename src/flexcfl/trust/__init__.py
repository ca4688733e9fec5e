"""Clients that fail or attack, a server that rejects answers, and privacy of updates."""

from flexcfl.trust import faults, guards, privacy

__all__ = ["faults", "guards", "privacy"]
