"""Client numbers as people write them: ``0-9 12``."""

import re

import numpy as np

from flexcfl.protocol.vectors import Ids

PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
MOST = 10**7


def spans(clients: Ids) -> str:
    """Return numbers as ascending spans.

    >>> spans(np.array([12, 0, 1, 2]))
    '0-2 12'
    """
    known = np.unique(clients)
    gaps = np.diff(known) > 1
    # Whole arrays, as there may be tens of thousands of spans in every round of a large run.
    firsts = known[np.concatenate([[True], gaps])[: len(known)]].tolist()
    lasts = known[np.concatenate([gaps, [True]])[: len(known)]].tolist()
    pairs = zip(firsts, lasts, strict=True)
    return " ".join([f"{one}-{last}" if last > one else f"{one}" for one, last in pairs])


def numbers(text: str) -> Ids:
    """Return the numbers in a text of spans, separated by blanks or commas.

    >>> numbers("0-2,12").tolist()
    [0, 1, 2, 12]
    """
    found = [PART.fullmatch(part) for part in re.split(r"[\s,]+", text.strip())]
    pairs = [(int(each[1]), int(each[2] or each[1])) for each in found if each is not None]
    if len(pairs) < len(found) or any(last < first for first, last in pairs):
        raise ValueError(f"{text!r:.60} is not a list of numbers such as 0-9 or 3,5,8-12")
    if sum(last - first + 1 for first, last in pairs) > MOST:
        raise ValueError(f"{text!r:.60} are more than {MOST:,} numbers")
    return np.unique(np.concatenate([np.arange(first, last + 1) for first, last in pairs]))
