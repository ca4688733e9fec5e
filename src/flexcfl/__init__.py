"""Clustered federated learning that keeps working when clients differ and change.

>>> import flexcfl
>>> run = flexcfl.run(dataset="digits", rounds=2)
>>> module = run.model()
"""

TYPE_CHECKING = False  # as typing has it, without the time that it takes to import typing
if TYPE_CHECKING:
    from typing import Any

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
    *("aggregation", "algorithms", "benchmark", "clustering", "comparison", "data", "disk"),
    *("engine", "errors", "experiment", "extensions", "flower", "lines", "models", "paper"),
    *("protocol", "record", "report", "runner", "seeds", "settings", "shifts", "simulation"),
    *("synonyms", "testing", "threads", "trust"),
)
LAZY = {
    **dict.fromkeys(("Comparison", "compare"), "comparison"),
    **dict.fromkeys(("Callback", "Placement", "Run", "load", "resume", "run"), "runner"),
}


def __getattr__(name: str) -> "Any":
    """Import a part only when it is used, so that the command starts fast."""
    from importlib import import_module

    if name in LAZY:
        return getattr(import_module(f"{__name__}.{LAZY[name]}"), name)
    if name in PARTS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Offer what there is to use, loaded or not."""
    return sorted([*__all__, *PARTS])
