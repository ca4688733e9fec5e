"""Packages that not everybody has, imported when they are needed."""

from importlib import import_module
from typing import Any

from flexcfl.errors import SettingsError

__all__ = ["missing", "needed"]


def needed(module: str, extra: str) -> Any:
    """Return a module of a package that comes with an extra, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(extra, error) from None


def missing(extra: str, error: ImportError) -> SettingsError:
    """Return the error for a package that cannot be imported."""
    what = f"module '{error.name}'" if error.name else str(error)
    return SettingsError(
        f"What '{extra}' needs is not installed ({what}): pip install 'flexcfl[{extra}]', then try "
        "again."
    )
