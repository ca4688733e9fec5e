"""How functions are compiled: once for given types, without the interpreter, kept on disk."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

__all__ = ["MATH", "can_compile", "compiled"]

# Sums may be reordered and fused, as any BLAS does. NaN and infinity keep their meaning.
MATH = {"reassoc", "contract", "nsz", "arcp"}

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


@cache
def can_compile() -> bool:
    """Whether Numba can be imported, which refuses versions of NumPy that it does not know."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def compiled(signature: Any) -> Callable[[FunctionT], Any]:
    """Compile a function for one signature now, or read what was compiled before.

    Numba looks for changes in the file of the function only, so that a file of compiled functions
    must not use those of another.
    """
    from numba import njit

    def decorate(function: FunctionT) -> Any:
        try:
            return njit(signature, fastmath=MATH, nogil=True, cache=True)(function)
        except (RuntimeError, OSError):  # nowhere to keep it: every process compiles anew
            return njit(signature, fastmath=MATH, nogil=True)(function)

    return decorate
