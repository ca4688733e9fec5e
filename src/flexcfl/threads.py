"""Linear algebra whose results do not depend on how many threads compute them."""

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]

PACKAGES = ("numpy", "scipy.linalg", "sklearn", "torch")  # which bring libraries with threads

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def one_thread(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
    """Let a function compute on one thread, so that its result does not depend on their number.

    More would gain little for long and narrow products, and lose much where others are at work on
    the same cores.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> ResultT:
        loaded = tuple(name in sys.modules for name in PACKAGES)
        with _libraries(loaded).limit(limits=1):
            return function(*args, **kwargs)

    return limited


@cache
def _libraries(_loaded: tuple[bool, ...]) -> ThreadpoolController:
    """Return what controls the libraries loaded so far; to look for them takes milliseconds."""
    return ThreadpoolController()
