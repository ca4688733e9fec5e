"""A folder of checkpoints: what is kept, written again, and not touched."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexcfl import disk
from flexcfl.record.checkpoints import Checkpoint, FoundCheckpoint, Store
from tests.record.checkpoints.interrupted import check_values

Arrays = Sequence[NDArray[Any]]


def drawn(number: int, seed: int = 0) -> list[NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=250) for _ in range(number)]


def saved(store: Store, number: int, arrays: Arrays) -> Checkpoint:
    checkpoint = Checkpoint(number, {"round": number, "of": list(range(len(arrays)))}, arrays)
    store.save(checkpoint)
    return checkpoint


def usable(folder: Path) -> list[Checkpoint]:
    """Return what another process finds, which must be whole."""
    found = list(Store(folder).found())
    return [each.checkpoint for each in found if isinstance(each, FoundCheckpoint)]


def check_checkpoints(found: Sequence[Checkpoint], expected: Sequence[Checkpoint]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.round, one.content) == (other.round, other.content)
        check_values(list(one.arrays), list(other.arrays))


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_the_last_two_are_found_newest_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "checkpoints")
    made = [saved(store, number, drawn(3, number)) for number in (0, 1, 7, 12)]
    check_checkpoints(usable(store.folder), [made[3], made[2]])


def test_as_many_are_kept_as_requested_also_after_a_resume(tmp_path: Path) -> None:
    store = Store(tmp_path, keep=3)
    made = [saved(store, number, drawn(1, number)) for number in range(1, 6)]
    check_checkpoints(usable(tmp_path), made[:1:-1])
    another = Store(tmp_path, keep=3)
    _, found, _ = another.found()
    assert isinstance(found, FoundCheckpoint)
    another.continue_from(found)
    new = saved(another, 9, [*found.checkpoint.arrays, *drawn(1, 9)])
    check_checkpoints(usable(tmp_path), [new, made[3], made[2]])  # and not the last of before


def test_the_number_counts_and_not_its_text(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made = [saved(store, number, drawn(1, number)) for number in (9, 10)]
    check_checkpoints(usable(tmp_path), made[::-1])


def test_what_has_not_changed_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def counting(files: Mapping[Path, Sequence[Any]]) -> None:
        written[-1] += sum(len(part) for parts in files.values() for part in parts)
        usual(files)

    usual = disk.write_in_order
    monkeypatch.setattr(disk, "write_in_order", counting)
    store, arrays = Store(tmp_path), drawn(40)
    for number in range(4):
        written.append(0)
        saved(store, number, arrays)
        arrays = [*arrays[:-1], np.zeros(250)]
    assert written[0] > 40 * 2000
    assert all(each < 2000 + 4000 for each in written[1:])


def test_equal_numbers_in_another_array_are_another_array(tmp_path: Path) -> None:
    store, array = Store(tmp_path), np.zeros(4)
    saved(store, 1, [array])
    array[:] = 1  # not allowed elsewhere; here it shows what is written
    made = saved(store, 2, [array.copy()])
    check_values(list(usable(tmp_path)[0].arrays), list(made.arrays))


def test_an_array_that_stands_in_two_places_is_written_once(tmp_path: Path) -> None:
    store, (array,) = Store(tmp_path), drawn(1)
    made = saved(store, 1, [array, array, array])
    check_checkpoints(usable(tmp_path), [made])
    assert size(tmp_path) < 2 * array.nbytes


def test_no_arrays_make_no_file(tmp_path: Path) -> None:
    saved(Store(tmp_path), 0, [])
    assert [path.name for path in tmp_path.iterdir()] == ["round-0.json"]
    check_checkpoints(usable(tmp_path), [Checkpoint(0, {"round": 0, "of": []}, [])])


@settings(max_examples=20)
@given(st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=12), st.integers(0, 11))
def test_two_are_whole_after_any_changes_and_going_on(
    tmp_path_factory: pytest.TempPathFactory, changes: list[set[int]], again: int
) -> None:
    folder = tmp_path_factory.mktemp("store") / "checkpoints"
    store, arrays = Store(folder), drawn(10)
    made: list[Checkpoint] = []
    for number, changed in enumerate(changes):
        if number == again and made:  # another process goes on
            store = Store(folder)
            found = next(store.found())
            assert isinstance(found, FoundCheckpoint)
            store.continue_from(found)
            arrays = list(found.checkpoint.arrays)
            made = made[-1:]  # and only vouches for files that it has read
        arrays = [arrays[n] + 1 if n in changed else arrays[n] for n in range(10)]
        made.append(saved(store, number, arrays))
        check_checkpoints(usable(folder), made[: -3 if len(made) > 1 else None : -1])


def test_the_folder_stays_small_over_many_changes(tmp_path: Path) -> None:
    rng, store, arrays = np.random.default_rng(0), Store(tmp_path), drawn(50)
    live, total, largest, files = sum(each.nbytes for each in arrays), 0, 0, 0
    for number in range(100):
        changed = rng.random(50) < 0.1
        arrays = [each + 1 if new else each for each, new in zip(arrays, changed, strict=True)]
        before = {path.name for path in tmp_path.iterdir()}
        saved(store, number, arrays)
        new_files = [path for path in tmp_path.iterdir() if path.name not in before]
        total += sum(path.stat().st_size for path in new_files)
        largest, files = max(largest, size(tmp_path)), max(files, len(list(tmp_path.iterdir())))
    assert len(usable(tmp_path)) == 2
    assert largest < 3 * live
    assert total < 100 * live / 4  # of what it takes to write all of them every time
    assert files < 40


def test_strangers_files_are_left_alone(tmp_path: Path) -> None:
    strange = [
        "notes.txt",
        "round-1.json.bak",
        "xround-1.json",
        "arrays-x.safetensors",
        "round-.json",
    ]
    for name in strange:
        (tmp_path / name).write_text("mine")
    (tmp_path / "folder").mkdir()
    store = Store(tmp_path)
    for number in range(4):
        saved(store, number, drawn(2, number))
    store.clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*strange, "folder"])


def test_remains_of_others_go(tmp_path: Path) -> None:
    for name in ("arrays-77.safetensors", "round-77.json", ".round-78.json.part"):
        (tmp_path / name).write_text("left over")
    saved(Store(tmp_path), 3, drawn(1))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["arrays-3.safetensors", "round-3.json"]


def test_clearing_leaves_nothing_and_needs_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "checkpoints")
    store.clear()
    saved(store, 1, drawn(2))
    store.clear()
    assert not store.folder.exists()
    assert list(store.found()) == []


def spoil(path: Path, damage: str) -> None:
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[:-2])
    elif damage == "grown":
        path.write_bytes(content + b"x")
    elif damage == "flipped":
        path.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    elif damage == "empty":
        path.touch()
    elif damage == "folder":
        path.mkdir()
    elif damage == "pipe":
        os.mkfifo(path)
    elif damage == "link":
        path.with_name("elsewhere").write_bytes(content)
        path.symlink_to("elsewhere")
    elif damage == "endless link":
        path.symlink_to(path.name)


DAMAGES = ["gone", "cut", "grown", "flipped", "empty", "folder", "pipe", "link", "endless link"]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["round-2.json", "arrays-2.safetensors"])
def test_damage_is_noticed_and_named_and_the_one_before_is_found(
    name: str, damage: str, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    first = saved(store, 1, drawn(2, 1))
    saved(store, 2, drawn(2, 2))
    spoil(tmp_path / name, damage)
    found = list(Store(tmp_path).found())
    if (name, damage) == ("round-2.json", "gone"):
        found = ["", *found]
    remark, good = found
    assert isinstance(good, FoundCheckpoint)
    check_checkpoints([good.checkpoint], [first])
    if remark:
        assert str(tmp_path / "round-2.json") in str(remark)
        assert "cannot be used" in str(remark)
        assert (name in str(remark)) or damage == "gone"


def test_a_checkpoint_under_another_number_is_not_used(tmp_path: Path) -> None:
    saved(Store(tmp_path), 1, drawn(1))
    (tmp_path / "round-1.json").rename(tmp_path / "round-5.json")
    assert list(Store(tmp_path).found()) == [
        f"'{tmp_path / 'round-5.json'}' cannot be used: it is of round 1"
    ]


@pytest.mark.parametrize("way", ["link", "pipe", "file"])
def test_what_stands_in_the_place_of_the_folder_is_left_alone(way: str, tmp_path: Path) -> None:
    elsewhere, place = tmp_path / "elsewhere", tmp_path / "checkpoints"
    saved(Store(elsewhere), 1, drawn(1))
    before = sorted((path.name, path.stat().st_mtime_ns) for path in elsewhere.iterdir())
    if way == "link":
        place.symlink_to(elsewhere)
    elif way == "pipe":
        os.mkfifo(place)
    else:
        place.write_text("mine")
    store = Store(place)
    assert list(store.found()) == []
    with pytest.raises(OSError):
        saved(store, 2, drawn(1))
    store.clear()
    assert place.is_symlink() or place.exists()
    assert sorted((path.name, path.stat().st_mtime_ns) for path in elsewhere.iterdir()) == before


def test_a_save_that_failed_can_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    first = saved(store, 1, drawn(2))

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            saved(store, 2, [first.arrays[0], *drawn(1, 2)])
    check_checkpoints(usable(tmp_path), [first])
    second = saved(store, 2, [first.arrays[0], *drawn(1, 2)])
    check_checkpoints(usable(tmp_path), [second, first])


def test_what_cannot_be_removed_is_left(tmp_path: Path) -> None:
    (tmp_path / "round-0.json").mkdir()
    store, made = Store(tmp_path), drawn(2)
    for number in range(1, 4):
        saved(store, number, made)
    assert (tmp_path / "round-0.json").is_dir()
    assert [each.round for each in usable(tmp_path)] == [3, 2]
