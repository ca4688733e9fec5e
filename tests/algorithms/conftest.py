"""Clients in closed form, as those have them who test an algorithm of their own."""

from collections.abc import Callable

import pytest

from flexcfl.testing.parabolas import Parabolas


@pytest.fixture
def parabolas() -> Callable[..., Parabolas]:
    return Parabolas
