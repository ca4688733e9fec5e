"""All clients in one process: orders fulfilled by the engine on data that may change."""

from flexcfl.simulation.divergence import Divergence
from flexcfl.simulation.simulation import Memory, Simulation

__all__ = ["Divergence", "Memory", "Simulation"]
