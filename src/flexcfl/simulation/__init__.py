"""All clients in one process: orders fulfilled by the engine on data that may change."""

from flexcfl.simulation.world import Memory, Simulation

__all__ = ["Memory", "Simulation"]
