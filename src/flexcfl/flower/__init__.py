"""The same algorithms on a real network, over Flower: a ``ServerApp`` and a ``ClientApp``.

Flower: Beutel et al.: Flower: A Friendly Federated Learning Research Framework. 2020. The extra
``flexcfl[flower]`` brings it; nothing else of the package needs it.
"""

from pathlib import Path

__all__ = ["APP"]

APP = Path(__file__).parent / "app"
