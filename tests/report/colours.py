"""How far colours are from each other, as people see them."""

import math
from typing import Any

import numpy as np

__all__ = ["PAPER", "contrast", "distance"]

PAPER = {"light": "#FFFFFF", "dark": "#181D24"}  # what charts are drawn on


def contrast(one: Any, other: Any) -> float:
    """Return the contrast of two colours (WCAG 2.2), each as ``#RRGGBB`` or as three numbers."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: Any) -> float:
    parts = colour
    if isinstance(colour, str):
        parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    shares = [part / 255 for part in parts]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def distance(one: str, other: str) -> float:
    """Return how far apart two colours are (CIE 1976, in the space L*a*b*)."""
    return math.dist(_lab(one), _lab(other))


def _lab(colour: str) -> tuple[float, float, float]:
    shares = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(matrix @ linear / (0.9505, 1, 1.089)).tolist()
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)
