"""Linear algebra whose results do not depend on how many threads compute them."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

__all__ = ["one_thread"]

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def one_thread(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
    """Let a function compute on one thread, so that its result does not depend on their number.

    More would gain little for long and narrow products, and lose much where others are at work on
    the same cores.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> ResultT:
        with threadpool_limits(limits=1):
            return function(*args, **kwargs)

    return limited
