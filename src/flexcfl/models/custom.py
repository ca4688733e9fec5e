"""The user's own networks, named ``package.module:factory``."""

import inspect
from collections.abc import Callable
from typing import Any

from torch import nn

from flexcfl.errors import ModelError
from flexcfl.extensions import RAISED, importable_from_here, imported, in_short

__all__ = ["checked", "made"]


def made(name: str) -> nn.Module:
    """Import the factory (a function or an ``nn.Module`` class), call it, return its module."""
    with importable_from_here():  # also what is imported only when the factory is called
        return checked(imported(name, "model", ModelError), name)()


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
