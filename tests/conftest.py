"""For all tests: one thread for small matrices, and no clock for properties."""

import os

# Before NumPy and torch are there: with more threads the small models of the tests take twice as
# long. Tests of several threads ask for them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Where tests run in several processes these are told how wide the terminal of the first one is.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COLUMNS", None)

import pytest
from hypothesis import settings

# A busy machine is no fault of the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with Flower's processes, which wait for each other while other tests can go on."""
    items.sort(key=lambda item: item.get_closest_marker("processes") is None)
