"""Randomness by name: every draw has a seed of its own, whatever the order of calls.

A generator is derived from (run seed, purpose, keys such as round and client). The order of a
cohort, the number of threads, the executor, or a restart therefore never change what is drawn.
"""

import zlib

import numpy as np

__all__ = ["generator"]


def generator(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """Return the generator of one purpose, for instance ``generator(0, "batches", 3, client)``."""
    # Philox can be made from any key at a fixed small cost and is the same on every platform.
    entropy = np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), *keys])
    return np.random.Generator(np.random.Philox(entropy))
