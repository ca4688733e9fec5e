"""A whole Flower federation on one machine, for trials and tests: ``flexcfl federate``.

It runs Flower's own programs, the same as on many machines. On Linux they are forks of one process,
which saves their start-up (docs/decisions/0015).
"""

from flexcfl.flower.local.federation import FederationPlan, LocalFederation

__all__ = ["FederationPlan", "LocalFederation"]
