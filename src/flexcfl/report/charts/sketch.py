"""A curve as a small drawing in SVG, for places that take no more than that."""

from html import escape

import numpy as np
from numpy.typing import NDArray

__all__ = ["sketch"]

WIDTH, HEIGHT, EDGE = 360, 96, 4


def sketch(values: NDArray[np.float64], colour: str, what: str) -> str:
    """Return a curve over rounds, nothing if it has no value; ``what`` is for who does not see it.

    >>> sketch(np.array([np.nan]), "#0072B2", "accuracy")
    ''
    """
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return ""
    seen = values[known]
    x = EDGE + (WIDTH - 2 * EDGE) * known / max(len(values) - 1, 1)
    y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (seen - seen.min()) / (np.ptp(seen) or 1)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(what)}"><polyline points="{points}" fill="none" stroke="{colour}" '
        'stroke-width="2" stroke-linejoin="round"/></svg>'
    )
