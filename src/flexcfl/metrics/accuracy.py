"""Accuracy of a whole federation: hits over examples, whoever they belong to."""

from flexcfl.protocol import Evaluated

__all__ = ["accuracy"]


def accuracy(evaluated: Evaluated) -> float | None:
    """Return the fraction of examples that were classified rightly, or None without examples."""
    examples = int(evaluated.examples.sum())
    return int(evaluated.hits.sum()) / examples if examples else None
