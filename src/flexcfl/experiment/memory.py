"""The memory that an algorithm needs, held against what the machine has."""

import os

from flexcfl.errors import SettingsError

__all__ = ["LARGE", "check", "machine", "spelt"]

LARGE = 100 * 10**6  # bytes from which on it is worth a line of its own
UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def machine() -> int | None:
    """Return the bytes of this machine's memory, or None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system knows the question
        return None


def check(algorithm: str, needed: int, available: int | None) -> None:
    """Refuse an algorithm that would keep or gather more than there is."""
    if available is not None and needed > available:
        raise SettingsError(
            f"'{algorithm}' would need about {spelt(needed)} of memory for what it keeps of its "
            f"clients, and this machine has {spelt(available)}: choose a smaller model (--model), "
            "fewer clients or a sample of them where there is such a setting, or another algorithm."
        )


def spelt(size: int) -> str:
    """Return a number of bytes in words.

    >>> spelt(393_000_000), spelt(1_300_000_000), spelt(999)
    ('393 MB', '1.3 GB', '999 bytes')
    """
    for unit, factor in UNITS:
        if size >= factor:
            number = size / factor
            return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"
    return f"{size} bytes"
