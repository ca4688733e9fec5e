"""Clustering needs little more memory than the updates themselves."""

import subprocess
import sys

import pytest

# In a separate process, because the highest memory ever used only grows.
PROGRAM = """
import resource
import numpy as np
from flexcfl.clustering import cluster

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rng = np.random.default_rng(0)
cluster(np.arange(9), rng.standard_normal((9, 50), dtype=np.float32), 3, "edc", rng)
updates = np.empty((100, 400_000), np.float32)
for row in updates:
    rng.standard_normal(dtype=np.float32, out=row)
before = peak()
cluster(np.arange(100), updates, 5, "edc", rng)
print((peak() - before) / updates.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_clustering_takes_half_of_the_memory_of_the_updates_at_most() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    )
    assert float(done.stdout) < 0.5
