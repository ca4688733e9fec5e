"""Compiled code is cached if there is space for it, and works if there is none."""

import numpy as np
import pytest
from numba import float64, types
from numba.core.caching import CacheImpl

from flexcfl.engine.compiling import compiled


def test_nowhere_to_keep_it_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])

    @compiled(float64(types.Array(float64, 1, "C")))
    def total(values):  # type: ignore[no-untyped-def]
        found = 0.0
        for value in values:
            found += value
        return found

    assert total(np.arange(4.0)) == 6
    assert len(total.signatures) == 1
