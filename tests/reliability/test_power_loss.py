"""The power fails after any call: what was flushed is there, all else may be lost."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.reliability.faults import Call, Disk
from tests.reliability.powerloss import Choice, Left, by_chance, found, left_over, put
from tests.reliability.small import (
    FESEM,
    FIRST,
    FLEXCFL,
    FOLDER,
    ROUNDS,
    Kind,
    Output,
    References,
    begun,
    copied,
    differences,
    resumed,
    troubles,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_order")]

NO: Choice = lambda: False  # noqa: E731
YES: Choice = lambda: True  # noqa: E731


def states(calls: Sequence[Call], before: Left) -> Iterator[tuple[int, Left]]:
    """Yield what may be left after a call: all that is unsure, none, or some of it."""
    seen = set()
    for number in range(len(calls) + 1):
        chance = by_chance(number)
        for names, contents in ((NO, NO), (YES, NO), (NO, YES), (chance, chance)):
            left = left_over(calls[:number], names, contents, before)
            mark = frozenset(left.items())
            if mark not in seen:
                seen.add(mark)
                yield number, left


def first_kept(calls: Sequence[Call]) -> int:
    """Return the number of the call after which the first checkpoint cannot be lost any more."""
    replaced = next(number for number, call in enumerate(calls) if call.extra == FIRST)
    rest = enumerate(calls[replaced:], start=replaced + 1)
    return next(number for number, call in rest if call == Call("fsync", FIRST.parent))


def check(
    calls: Sequence[Call],
    before: Left,
    sure: int,
    reference: Path,
    place: Path,
    output: Output,
) -> None:
    """Go on from all states; after ``sure`` calls none may be lost."""
    wrong = {}
    for number, left in states(calls, before):
        put(left, place)
        trouble = troubles(place / FOLDER, reference, number < sure, output)
        if trouble:
            wrong[number, str(calls[number - 1])[:100]] = trouble
        shutil.rmtree(place)
    assert not wrong


@pytest.mark.parametrize(("kind", "rounds"), [(FLEXCFL, 1), (FESEM, 2)])
def test_a_run_outlives_a_power_cut_from_its_first_checkpoint_on(
    kind: Kind,
    rounds: int,
    references: References,
    tmp_path: Path,
    capsys: Output,
) -> None:
    root, reference = tmp_path / "run", copied(references[kind], tmp_path / "reference")
    root.mkdir()
    with Disk(root) as disk:
        assert begun(kind, root / FOLDER, **{"run.checkpoint_rounds": rounds}) == 0
    shutil.copy(root / FOLDER / "experiment.toml", reference)
    assert differences(root / FOLDER, reference) == []
    check(disk.done, {}, first_kept(disk.done), reference, tmp_path / "left", capsys)


@pytest.mark.parametrize(("kind", "damaged"), [(FLEXCFL, True), (FESEM, False)])
def test_a_resumed_run_outlives_it_too(
    kind: Kind,
    damaged: bool,
    references: References,
    tmp_path: Path,
    capsys: Output,
) -> None:
    root = tmp_path / "run"
    put(_in_the_midst(kind, tmp_path / "first"), root)
    newest = root / FOLDER / "checkpoints" / f"round-{ROUNDS - 1}.json"
    if damaged:
        newest.write_bytes(newest.read_bytes()[:-9])
    before = found(root)
    with Disk(root) as disk:
        assert resumed(root / FOLDER) == 0
    assert differences(root / FOLDER, references[kind]) == []
    check(disk.done, before, 0, references[kind], tmp_path / "left", capsys)


def _in_the_midst(kind: Kind, root: Path) -> Left:
    """Return the content of the folder just before the last checkpoint gets its name."""
    root.mkdir()
    with Disk(root) as disk:
        assert begun(kind, root / FOLDER) == 0
    last = FIRST.with_name(f"round-{ROUNDS}.json")
    end = next(number for number, call in enumerate(disk.done) if call.extra == last)
    return left_over(disk.done[:end], YES, YES)


def test_what_was_not_flushed_is_lost(tmp_path: Path) -> None:
    file, other = Path("a"), Path("b")
    calls = [Call("open", file, True), Call("write", file, b"12"), Call("fsync", file)]
    assert left_over(calls, NO, NO) == {}
    assert left_over(calls, YES, NO) == {file: b"12"}
    calls += [Call("fsync", Path()), Call("write", file, b"34"), Call("replace", file, other)]
    assert left_over(calls, NO, NO) == {file: b"12"}
    assert left_over(calls, YES, NO) == {other: b"12"}
    assert left_over(calls, NO, YES) == {file: b"1234"}
    put(left_over(calls, YES, YES), tmp_path / "put")
    assert found(tmp_path / "put") == {other: b"1234"}
    assert left_over([Call("unlink", file)], NO, NO, {file: b"5"}) == {file: b"5"}
    assert left_over([Call("unlink", file)], YES, NO, {file: b"5"}) == {}
