"""Clustered federated learning that keeps working when clients differ and change.

>>> import flexcfl
>>> run = flexcfl.run(dataset="digits", rounds=2)
>>> module = run.model()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flexcfl.comparison import Comparison, compare
    from flexcfl.runner import Callback, Placement, Run, load, resume, run

__all__ = [
    "Callback",
    "Comparison",
    "Placement",
    "Run",
    "__version__",
    "compare",
    "load",
    "resume",
    "run",
]

__version__ = "0.1.0"
"""The version, as the package has it."""

PARTS = (
    *("aggregation", "algorithms", "data", "drift", "errors", "extensions", "faults", "guards"),
    *("history", "privacy", "protocol", "shifts", "testing", "tracking"),
)
LAZY = {
    **dict.fromkeys(("Comparison", "compare"), "comparison"),
    **dict.fromkeys(("Callback", "Placement", "Run", "load", "resume", "run"), "runner"),
}


def __getattr__(name: str) -> Any:
    """Import the runner and all it needs only when it is used, so that the command starts fast."""
    if name in LAZY:
        return getattr(import_module(f"{__name__}.{LAZY[name]}"), name)
    if name in PARTS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Offer what there is to use, loaded or not."""
    return sorted([*__all__, *PARTS])
