"""All clients simulated in one process, with the engine, on data that may change."""

from flexcfl.simulation.divergence import Divergence
from flexcfl.simulation.simulation import Memory, Simulation

__all__ = ["Divergence", "Memory", "Simulation"]
