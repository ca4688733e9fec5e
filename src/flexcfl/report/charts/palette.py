"""Colours that colour-blind people can distinguish, on a white and on a dark background.

After Okabe and Ito: Color Universal Design, 2008; pale ones are darkened so that every line has a
contrast of 3 to 1 on white (WCAG 2.2, 1.4.11), and each has a brighter one for the dark theme.
"""

from collections.abc import Mapping, Sequence

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B57E00", "#4F9AD3", "#000000")
BLUE, VERMILION, GREEN, PINK, GOLD, SKY, BLACK = COLOURS
_BRIGHT = ("#4DB2F2", "#FF8A3D", "#2CCFA2", "#E9A3C9", "#E8B740", "#8CD0F7", "#F2F2F2")
# Further groups: the same colours again, but darker, or paler in the dark theme; then others that
# are visible in both themes.
_DEEP = ("#00476F", "#853B00", "#006348", "#7F4B68", "#714F00", "#215B7E", "#5C5C5C")
_PALER = ("#7FB8D8", "#EAAE7F", "#7FCEB9", "#E5BCD3", "#DABE7F", "#9AC8E4", "#B0B0B0")
_OTHERS = ("#8A63D2", "#A8552A", "#5F8A00", "#C2305F", "#008A96", "#7A7A7A", "#A65AA0")
PLUM, OLIVE = _DEEP[3], _OTHERS[2]
NEUTRAL = "#767676"  # no group
MARK = "#1B1B1B"  # text on top of other colours
SHADE = "#101010"  # darkens other colours, in both themes
PALE, MIDDLING = "#F1F3F5", "#6DB3DE"  # backgrounds of text
SEQUENCE = (PALE, "#0072B2")  # from none to all
# The colour that replaces each colour in the dark theme.
DARK: Mapping[str, str] = {
    **dict(zip(COLOURS, _BRIGHT, strict=True)),
    **dict(zip(_DEEP, _PALER, strict=True)),
    **{each: each for each in (*_OTHERS, SHADE)},
    NEUTRAL: "#9AA0A6",
    MARK: "#FFFFFF",
    PALE: "#22272E",
    MIDDLING: "#2A75A8",
}
_DASHES = ("solid", "dash", "dot")  # for more methods than there are colours


def method_style(index: int) -> tuple[str, str]:
    """Return the colour and the dashes of a method, by its position among the methods."""
    return COLOURS[index % len(COLOURS)], _DASHES[index // len(COLOURS) % len(_DASHES)]


def group_colour(group: int) -> str:
    """Return the colour of a group."""
    shades: Sequence[str] = (*COLOURS, *_DEEP, *_OTHERS)
    return shades[group % len(shades)]


def with_opacity(colour: str, share: float) -> str:
    """Return a colour with an opacity between 0 and 1.

    >>> with_opacity("#0072B2", 0.2)
    '#0072B233'
    """
    return f"{colour}{round(255 * share):02X}"
