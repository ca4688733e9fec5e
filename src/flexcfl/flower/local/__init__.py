"""A whole Flower federation on one machine, for trying out and for tests: ``flexcfl federate``.

It runs Flower's own programs, so that what is tried here is what runs on many machines; on Linux
they are forks of one process, which saves their start-up (docs/decisions/0015).
"""

from flexcfl.flower.local.federation import FederationPlan, LocalFederation

__all__ = ["FederationPlan", "LocalFederation"]
