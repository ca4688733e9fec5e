"""Local training of many clients at once, on flat float32 vectors."""

from flexcfl.engine.engine import Engine
from flexcfl.engine.paths import PathName

__all__ = ["Engine", "PathName"]
