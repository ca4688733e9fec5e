"""Compilation of functions by Numba: for fixed types, without the interpreter, cached on disk."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

# Sums may be reordered and fused, as in any BLAS. NaN and infinity keep their meaning.
MATH = {"reassoc", "contract", "nsz", "arcp"}

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


@cache
def can_compile() -> bool:
    """Whether Numba can be imported; it rejects versions of NumPy that it does not know."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def compiled(signature: Any) -> Callable[[FunctionT], Any]:
    """Compile a function for one signature, or load it from Numba's cache.

    Numba checks only the function's own file for changes, so compiled functions must not call
    compiled functions of another file.
    """
    from numba import njit

    def decorate(function: FunctionT) -> Any:
        try:
            return njit(signature, fastmath=MATH, nogil=True, cache=True)(function)
        except (RuntimeError, OSError):  # no place for the cache: every process compiles again
            return njit(signature, fastmath=MATH, nogil=True)(function)

    return decorate
