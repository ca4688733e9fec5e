"""Random generators by name, so that draws do not depend on the order of calls.

A generator is derived from (run seed, purpose, keys such as round and client). The order of a
cohort, the number of threads, the executor, or a restart therefore never change what is drawn.
"""

import zlib

import numpy as np

__all__ = ["generator"]


def generator(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """Return the generator of one purpose, for instance ``generator(0, "train", 3, client)``.

    Keys must be below 2**32. Different keys, or a different number of keys, give different draws.
    """
    if any(not 0 <= key < 2**32 for key in keys):
        raise ValueError(f"the keys {keys} of '{purpose}' must lie between 0 and 2**32")
    # A spawn key rather than more entropy, which SeedSequence would pad with zeros.
    sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(purpose.encode()), *keys))
    # Philox is cheap to create from any key, and the same on every platform.
    return np.random.Generator(np.random.Philox(sequence))
