"""Accuracy of clients together: hits over examples, whoever they belong to."""

import numpy as np

from flexcfl.protocol import Evaluated, Flags

__all__ = ["accuracy"]


def accuracy(evaluated: Evaluated, chosen: Flags | None = None) -> float | None:
    """Return the fraction of examples that were classified rightly, or None without examples.

    ``chosen`` has a flag for each client that was evaluated: whether it counts.
    """
    counted = np.ones(len(evaluated.clients), dtype=np.bool_) if chosen is None else chosen
    examples = int(evaluated.examples[counted].sum())
    return int(evaluated.hits[counted].sum()) / examples if examples else None
