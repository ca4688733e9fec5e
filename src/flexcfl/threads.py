"""Linear algebra whose results do not depend on the number of threads."""

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]

PACKAGES = ("numpy", "scipy.linalg", "sklearn", "torch")  # packages whose libraries use threads

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def one_thread(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
    """Make a function compute on one thread, so that its result does not depend on their number.

    More threads would gain little for long and narrow products, and lose much if other processes
    use the same cores.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> ResultT:
        loaded = tuple(name in sys.modules for name in PACKAGES)
        with _libraries(loaded).limit(limits=1):
            return function(*args, **kwargs)

    return limited


@cache
def _libraries(_loaded: tuple[bool, ...]) -> ThreadpoolController:
    """Return the controller of the libraries loaded so far; finding them takes milliseconds."""
    return ThreadpoolController()
