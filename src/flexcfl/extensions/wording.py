"""What an exception in a person's own code said, short enough for one sentence."""

import sysconfig
import traceback
from pathlib import Path

__all__ = ["in_short"]

_LONGEST = 200
# Python's own lines, installed packages' and ours: a mistake to mend is in none of them.
_INSTALLED = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
_NOT_THE_USERS = ("<", str(Path(__file__).parents[1]), *_INSTALLED)


def in_short(error: BaseException) -> str:
    """Return the kind, the place in the user's own files, and the first line of an exception."""
    first = next(iter(str(error).strip().splitlines()), "").rstrip(".")
    said = first if len(first) <= _LONGEST else f"{first[:_LONGEST]}..."
    kind = type(error).__name__ + _place(error)
    return f"{kind}: {said}" if said else kind


def _place(error: BaseException) -> str:
    """Name the innermost line that is the user's."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(_NOT_THE_USERS):
            return f" at {frame.filename}:{frame.lineno}"
    return ""
