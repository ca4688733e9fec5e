"""The user's own networks, named ``package.module:factory``."""

import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from torch import nn

from flexcfl.errors import ModelError
from flexcfl.models.wording import in_short

__all__ = ["checked", "made"]

# Whatever the user's code raises; SystemExit would end the command without a word.
RAISED = (Exception, SystemExit)


def made(name: str) -> nn.Module:
    """Import the factory (a function or an ``nn.Module`` class), call it, return its module."""
    with _importable_from_here():
        return checked(_resolved(name), name)()


def checked(factory: object, label: str) -> Callable[[], nn.Module]:
    """Return a factory that gives a module or raises a sentence, which calls it ``label``.

    What is no factory at all is refused at once, what it does when it is called is refused then.
    """
    called = _factory(factory, label)

    def make() -> nn.Module:
        try:
            module = called()
        except RAISED as error:
            raise ModelError(
                f"The model '{label}' could not be made ({in_short(error)}): "
                "mend the function or class that makes it."
            ) from error
        if not isinstance(module, nn.Module):
            raise ModelError(
                f"'{label}' returned {_a(type(module))}: it must return a torch.nn.Module."
            )
        return module

    return make


def _factory(found: object, name: str) -> Callable[[], object]:
    if isinstance(found, nn.Module):
        raise ModelError(
            f"'{name}' is a module that has already been made: name the function or class that "
            "makes it, so that every run can draw its first weights anew."
        )
    if not callable(found):
        raise ModelError(
            f"'{name}' is {_a(type(found))}, which cannot be called: "
            "name a function or class that makes a torch.nn.Module."
        )
    if not _needs_nothing(found):
        raise ModelError(
            f"'{name}' cannot be called without arguments: "
            "give them defaults, or name a function that fills them in."
        )
    return found


def _resolved(name: str) -> object:
    """Import the module, then look the name up in it."""
    module, _, attribute = name.partition(":")
    if not module:
        raise ModelError(
            f"The model '{name}' names no module before its colon: "
            "write package.module:factory, without the .py of a file."
        )
    try:
        pkgutil.resolve_name(f"{module}:")
    except RAISED as error:
        raise ModelError(
            f"The model '{name}' could not be imported ({in_short(error)}): mend "
            f"'{module}', install it, or start in its folder (this one is '{Path.cwd()}')."
        ) from error
    try:
        return pkgutil.resolve_name(name)
    except (AttributeError, ValueError) as error:
        raise ModelError(
            f"There is no '{attribute}' in '{module}': "
            "name a function or class in it that makes a torch.nn.Module."
        ) from error


@contextmanager
def _importable_from_here() -> Iterator[None]:
    """Let the user's files in the current folder be imported, as ``python`` itself would."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        with suppress(ValueError):  # the user's module may have removed it
            sys.path.remove(here)


def _needs_nothing(factory: Callable[..., Any]) -> bool:
    try:
        inspect.signature(factory).bind()
    except TypeError:
        return False
    except ValueError:  # built-in callables have no signature; the call itself will tell
        return True
    return True


def _a(kind: type) -> str:
    return f"an object of type {kind.__name__}" if kind is not type(None) else "nothing"
