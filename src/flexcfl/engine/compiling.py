"""How functions are compiled: once for given types, without the interpreter, kept on disk."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

__all__ = ["MATH", "compiled"]

# Sums may be reordered and fused, as any BLAS does. NaN and infinity keep their meaning.
MATH = {"reassoc", "contract", "nsz", "arcp"}

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def compiled(signature: Any) -> Callable[[FunctionT], Any]:
    """Compile a function for one signature now, or read what was compiled before.

    Numba looks for changes in the file of the function only, so that a file of compiled functions
    must not use those of another.
    """

    def decorate(function: FunctionT) -> Any:
        try:
            return njit(signature, fastmath=MATH, nogil=True, cache=True)(function)
        except RuntimeError:  # there is nowhere to keep it, so that every process compiles anew
            return njit(signature, fastmath=MATH, nogil=True)(function)

    return decorate
