"""The same algorithms on a real network, over Flower: a ``ServerApp`` and a ``ClientApp``.

Flower: Beutel et al.: Flower: A Friendly Federated Learning Research Framework. 2020. The extra
``flexcfl[flower]`` brings it; nothing else of the package needs it.
"""

from pathlib import Path

__all__ = ["APP", "EVERY_ROUND"]

APP = Path(__file__).parent / "app"

# Checkpoint after every round, because a crash costs more here than a checkpoint does.
EVERY_ROUND = {"run": {"checkpoint_rounds": 1, "checkpoint_share": 1.0}}
