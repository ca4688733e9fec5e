"""Needed memory is compared with available memory."""

import os

import pytest

from flexcfl.errors import SettingsError
from flexcfl.runner.prepare import check_memory, machine_memory


def test_the_machine_tells_what_it_has_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine_memory()
    assert found is None or found > 2**28

    def unknown(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown)
    assert machine_memory() is None


def test_what_fits_passes_and_what_is_unknown_too() -> None:
    check_memory("fesem", 100, 100)
    check_memory("fesem", 10**18, None)


def test_what_does_not_fit_is_refused_with_what_to_do() -> None:
    with pytest.raises(SettingsError) as caught:
        check_memory("fesem", 13_100_000_000, 8_000_000_000)
    sentence = str(caught.value)
    assert sentence.startswith("'fesem' would need about 13 GB of memory")
    assert "this machine has 8.0 GB: choose a smaller model (--model)" in sentence
