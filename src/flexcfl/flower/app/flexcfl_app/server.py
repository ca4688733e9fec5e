"""The app's ``ServerApp``."""

from flexcfl.flower.server import app

__all__ = ["app"]
