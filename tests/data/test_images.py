import contextlib
import gzip
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.data.images import pixel_statistics, read_idx, read_images_and_labels, standardised
from flexcfl.errors import DataError
from tests.data.conftest import WriteIdx

IMAGES = np.arange(3 * 28 * 28, dtype=np.int64).reshape(3, 28, 28).astype(np.uint8)
LABELS = np.array([2, 0, 1], dtype=np.uint8)
PLAIN = struct.pack(">IIII", 0x803, 3, 28, 28) + IMAGES.tobytes()
PACKED = gzip.compress(PLAIN, mtime=0)
ENDLESS = struct.pack(">IIII", 0x803, 2**32 - 1, 2**32 - 1, 2**32 - 1)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broken") / "images"


def refusal(path: Path, content: bytes, dimensions: int = 3) -> str:
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_idx(path, dimensions)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("content", [PLAIN, PACKED])
def test_plain_and_compressed_files_give_the_same_array(broken: Path, content: bytes) -> None:
    broken.write_bytes(content)
    np.testing.assert_array_equal(read_idx(broken, 3), IMAGES)


def test_the_names_end_says_nothing_about_compression(tmp_path: Path) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(PLAIN)
    np.testing.assert_array_equal(read_idx(path, 3), IMAGES)


def test_a_file_that_rights_keep_from_us_is_not_called_damaged(another_user: Path) -> None:
    path = another_user / "images"
    path.write_bytes(PLAIN)
    path.chmod(0)
    with pytest.raises(DataError) as caught:
        read_idx(path, 3)
    assert (
        str(caught.value) == f"'{path}' cannot be read (Permission denied): check its permissions."
    )


def test_images_and_labels_are_read_together(tmp_path: Path, write_idx: WriteIdx) -> None:
    images = write_idx(tmp_path / "images.gz", IMAGES)
    labels = write_idx(tmp_path / "labels", LABELS)
    x, y = read_images_and_labels(images, labels, classes=3)
    np.testing.assert_array_equal(x, IMAGES)
    np.testing.assert_array_equal(y, LABELS)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "begins with nothing"),
        (b"\x00\x00\x08\x01" + PLAIN[4:], "begins with 00 00 08 01, not 00 00 08 03"),
        (b"\x00\x00\x0d\x03" + PLAIN[4:], "not an IDX file of unsigned bytes in 3 dimensions"),
        (PLAIN[:10], "ends inside its header"),
        (PLAIN[:-1], "ends after 2351 of 2352 bytes"),
        (PLAIN + b"x", "continues after the 2352 bytes"),
        (ENDLESS, f"ends after 0 of {(2**32 - 1) ** 3} bytes"),
        (gzip.compress(ENDLESS, mtime=0), "too short for that"),
        (struct.pack(">IIII", 0x803, 2**32 - 1, 0, 2**32 - 1), "cannot be read"),
        (struct.pack(">IIII", 0x803, 4, 28, 28) + IMAGES.tobytes(), "after 2352 of 3136 bytes"),
        (PACKED[:-9], "end-of-stream marker"),
        (PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], "CRC check failed"),
        (PACKED + b"garbage", "Not a gzipped file"),
        (PACKED[:30] + b"\xff\xff\xff" + PACKED[33:], "cannot be read"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(
    broken: Path, content: bytes, problem: str
) -> None:
    assert problem in refusal(broken, content)


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=50).map(lambda end: PLAIN[:8] + end)))
def test_any_bytes_give_an_array_or_a_sentence(broken: Path, content: bytes) -> None:
    broken.write_bytes(content)
    for dimensions in (1, 3):
        with contextlib.suppress(DataError):
            assert read_idx(broken, dimensions).ndim == dimensions


@given(st.data(), st.sampled_from([PLAIN, PACKED]))
def test_no_truncation_passes(broken: Path, data: st.DataObject, content: bytes) -> None:
    refusal(broken, content[: data.draw(st.integers(0, len(content) - 1))])


@given(st.data())
def test_a_flipped_byte_in_a_compressed_file_never_changes_the_images(
    broken: Path, data: st.DataObject
) -> None:
    position = data.draw(st.integers(0, len(PACKED) - 1))
    flipped = PACKED[position] ^ data.draw(st.integers(1, 255))
    broken.write_bytes(PACKED[:position] + bytes([flipped]) + PACKED[position + 1 :])
    with contextlib.suppress(DataError):
        np.testing.assert_array_equal(read_idx(broken, 3), IMAGES)


def test_a_header_that_promises_much_takes_no_memory(broken: Path) -> None:
    broken.write_bytes(gzip.compress(struct.pack(">IIII", 0x803, 2**31, 28, 28)))
    tracemalloc.start()
    with pytest.raises(DataError, match="too short"):
        read_idx(broken, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


def test_a_missing_file_and_a_folder_are_sentences_too(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_idx(tmp_path / "none", 1)
    with pytest.raises(DataError, match="not a regular file"):
        read_idx(tmp_path, 1)


@pytest.mark.parametrize(
    ("images", "labels", "problem"),
    [
        (IMAGES, LABELS[:2], "holds 3 images and .* 2 labels"),
        (IMAGES[:0], LABELS[:0], "holds 0 images and .* 0 labels"),
        (IMAGES[:, :27], LABELS, "images of 27 x 28 pixels instead of 28 x 28"),
        (IMAGES, LABELS + 1, "holds the label 3, outside of 0 to 2"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, write_idx: WriteIdx, images: object, labels: object, problem: str
) -> None:
    paths = write_idx(tmp_path / "images", images), write_idx(tmp_path / "labels", labels)
    with pytest.raises(DataError, match=problem):
        read_images_and_labels(*paths, classes=3)


RNG = np.random.default_rng(0)
STACKS = [
    RNG.integers(0, 256, (700, 28, 28), dtype=np.uint8),
    RNG.integers(0, 256, (300, 28, 28), dtype=np.uint8),
]
STACKS[0][:, 0, 0] = STACKS[1][:, 0, 0] = 7  # a pixel that is the same everywhere


def test_statistics_are_those_of_all_parts_in_double_precision() -> None:
    together = np.concatenate(STACKS).astype(np.float64)
    mean, deviation = pixel_statistics(STACKS)
    np.testing.assert_allclose(mean, together.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(deviation, together.std(axis=0), rtol=1e-9, atol=1e-9)


def test_pixels_are_standardised_into_one_contiguous_pool() -> None:
    together = np.concatenate(STACKS).astype(np.float64)
    pool = standardised(STACKS, *pixel_statistics(STACKS))
    expected = (together - together.mean(axis=0)) / (together.std(axis=0) + 0.001)
    assert pool.shape == (1000, 1, 28, 28)
    assert pool.dtype == np.float32
    assert pool.flags.c_contiguous
    np.testing.assert_allclose(pool[:, 0], expected, rtol=1e-4, atol=1e-5)


def test_a_constant_pixel_becomes_zero() -> None:
    assert (standardised(STACKS, *pixel_statistics(STACKS))[:, 0, 0, 0] == 0).all()


def test_standardising_takes_hardly_more_memory_than_its_result() -> None:
    many = [np.tile(STACKS[0], (10, 1, 1))]
    tracemalloc.start()
    pool = standardised(many, *pixel_statistics(many))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.2 * pool.nbytes
