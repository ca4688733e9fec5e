"""Why a contestant does not take part, in one line that can be published."""

import re

__all__ = ["ContestantError"]

_LONGEST = 200
# Folders say where somebody works; the last name of a path is enough.
_FOLDERS = re.compile(r"(?<![\w.:/])(?:[A-Za-z]:)?(?:[\\/][^\s\\/'\"]+)*[\\/](?=[^\s\\/'\"]+)")


class ContestantError(Exception):
    """A contestant cannot be installed, fails or takes too long."""

    def __init__(self, reason: str) -> None:
        line = _FOLDERS.sub("", " ".join(reason.split()))
        super().__init__(line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…")
