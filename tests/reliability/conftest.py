"""For the tests of crashes: runs without interruption, to compare with."""

import sys
from collections.abc import Iterator

import pytest

from flexcfl.record.checkpoints import saver
from tests.reliability.children import Children
from tests.reliability.faults import AtOnce
from tests.reliability.small import FESEM, FLEXCFL, References, begun, words


@pytest.fixture(autouse=True)
def _without_own_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEXCFL_DATA", raising=False)


@pytest.fixture(scope="session")
def references(tmp_path_factory: pytest.TempPathFactory) -> References:
    """Return the folders of small runs without interruption."""
    place = tmp_path_factory.mktemp("references")
    folders = {kind: place / kind[0] for kind in (FLEXCFL, FESEM)}
    for kind, folder in folders.items():
        assert begun(kind, folder) == 0
    return folders


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save checkpoints at once, so that calls come in the same order in every run."""
    monkeypatch.setattr(saver, "ThreadPoolExecutor", AtOnce)


@pytest.fixture(scope="session")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Start commands in separate processes."""
    if sys.platform != "linux":
        pytest.skip("how processes are watched here is Linux's")
    place = tmp_path_factory.mktemp("children")
    parent = Children(place, words(FLEXCFL, place / "warm"))
    yield parent
    parent.end()
