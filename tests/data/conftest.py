import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from numpy.typing import NDArray

WriteIdx = Callable[..., Path]
NOBODY = 65534
CHECKOUT = Path(__file__).parents[2]
REAL = Path(os.environ.get("FLEXCFL_DATA") or CHECKOUT.parent / "shared" / "data")


@pytest.fixture(autouse=True)
def no_files_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep what this machine happens to have out of the tests."""
    monkeypatch.delenv("FLEXCFL_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)


@pytest.fixture
def another_user(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty folder of a user whom rights can stop, as they cannot stop root."""
    if not hasattr(os, "geteuid"):
        pytest.skip("This system has no such rights.")
    user = os.geteuid()
    with TemporaryDirectory(prefix="flexcfl-test-") as folder:
        monkeypatch.setattr("pooch.os_cache", lambda project: Path(folder) / "cache" / project)
        if user == 0:
            os.chown(folder, NOBODY, -1)
            os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            if user == 0:
                os.seteuid(0)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of the real files, or skip."""
    if not all((REAL / name).is_dir() for name in ("mnist", "emnist", "fashion-mnist")):
        pytest.skip(f"The real files are not in {REAL}; FLEXCFL_DATA can name their folder.")
    return REAL


@pytest.fixture(scope="session")
def write_idx() -> WriteIdx:
    """Return a writer of arrays of unsigned bytes as IDX files, plain or compressed by name."""

    def write(path: Path, array: NDArray[np.uint8]) -> Path:
        sizes = np.array(array.shape, dtype=">u4").tobytes()
        content = bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return path

    return write


@pytest.fixture
def small_files(tmp_path: Path, write_idx: WriteIdx) -> Path:
    """Return a data folder with small files of all three datasets, in the true formats."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "small"
    for name, count, suffix in (("mnist", 400, ".gz"), ("fashion-mnist", 400, "")):
        for part, size in (("train", count), ("t10k", count // 4)):
            images = rng.integers(0, 256, (size, 28, 28), dtype=np.uint8)
            labels = (np.arange(size) % 10).astype(np.uint8)
            write_idx(folder / name / f"{part}-images-idx3-ubyte{suffix}", images)
            write_idx(folder / name / f"{part}-labels-idx1-ubyte{suffix}", labels)
    letters = np.arange(1000) % 62
    images = rng.integers(0, 256, (1000, 28, 28), dtype=np.uint8)
    write_idx(folder / "emnist/emnist-byclass-test-images-idx3-ubyte.gz", images)
    write_idx(folder / "emnist/emnist-byclass-test-labels-idx1-ubyte.gz", letters.astype(np.uint8))
    return folder
