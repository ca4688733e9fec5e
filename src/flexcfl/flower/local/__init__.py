"""A whole Flower federation on one machine, for trying out and for tests: ``flexcfl federate``.

It starts Flower's own programs, so that what is tried here is what runs on many machines.
"""

from flexcfl.flower.local.federation import Federation, Plan

__all__ = ["Federation", "Plan"]
