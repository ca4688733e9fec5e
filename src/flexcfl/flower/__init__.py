"""The same algorithms on a real network, over Flower: a ``ServerApp`` and a ``ClientApp``.

Flower: Beutel et al.: Flower: A Friendly Federated Learning Research Framework. 2020. The extra
``flexcfl[flower]`` installs it; no other part of the package needs it.
"""

from pathlib import Path

__all__ = ["APP", "EVERY_ROUND"]

APP = Path(__file__).parent / "app"

# Checkpoint after every round: here a crash costs more than a checkpoint.
EVERY_ROUND = {"run": {"checkpoint_rounds": 1, "checkpoint_share": 1.0}}
