"""A curve on one line: blocks that are the higher the more, or characters where there are none."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["sparkline"]

BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.-=+*#@"


def sparkline(values: NDArray[np.float64], width: int, ascii_only: bool = False) -> str:
    """Return values as a line of at most so many characters, a blank where there is none.

    Of more values than that, each character is the mean of its share of them.

    >>> import numpy as np
    >>> sparkline(np.array([0.1, 0.5, np.nan, 0.9]), 10)
    '▁▅ █'
    """
    signs = PLAIN if ascii_only else BLOCKS
    parts = np.array_split(values, min(len(values), max(width, 1))) if len(values) else []
    means = [float(known.mean()) if len(known := part[~np.isnan(part)]) else None for part in parts]
    there = [mean for mean in means if mean is not None]
    low, span = (min(there), max(there) - min(there)) if there else (0.0, 0.0)
    return "".join(
        " " if mean is None else signs[round((mean - low) / span * 7) if span else 7]
        for mean in means
    ).rstrip()
