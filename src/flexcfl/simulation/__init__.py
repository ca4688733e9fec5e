"""All clients in one process: orders fulfilled by the engine on data that may change."""

from flexcfl.simulation.world import Simulation

__all__ = ["Simulation"]
