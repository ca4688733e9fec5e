"""The app's ``ClientApp``."""

from flexcfl.flower.client import app

__all__ = ["app"]
