"""Clients in closed form, as users have them when they test a custom algorithm."""

from collections.abc import Callable

import pytest

from flexcfl.testing.parabolas import Parabolas


@pytest.fixture
def parabolas() -> Callable[..., Parabolas]:
    return Parabolas
