"""A crash at every call that changes the disk, an error at each, and the same run in the end."""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from tests.reliability.faults import Call, DeathError, Disk, Fault
from tests.reliability.small import (
    FESEM,
    FIRST,
    FLEXCFL,
    FOLDER,
    KINDS,
    Kind,
    Output,
    References,
    begun,
    differences,
    resumed,
    troubles,
)

# For FlexCFL every kind of call; for FeSEM, which has the same kinds, every fifth of these.
POINTS = pytest.mark.parametrize(
    ("kind", "stride"),
    [
        pytest.param(FLEXCFL, 47, id="flexcfl-some"),
        pytest.param(FESEM, 47, id="fesem-mig-some"),
        pytest.param(FLEXCFL, 1, id="flexcfl-all", marks=pytest.mark.slow),
        pytest.param(FESEM, 5, id="fesem-mig-many", marks=pytest.mark.slow),
    ],
)


in_order = pytest.mark.usefixtures("in_order")


def calls_of(kind: Kind, root: Path) -> list[Call]:
    """Return the calls of a run that nothing happens to."""
    root.mkdir()
    with Disk(root) as disk:
        assert begun(kind, root / FOLDER) == 0
    return disk.calls


def first_saved(calls: list[Call]) -> int:
    """Return the number of the call with which the first checkpoint is there."""
    return next(number for number, call in enumerate(calls, start=1) if call.extra == FIRST)


def crashed(root: Path, work: Callable[[], int], fault: Fault) -> Disk:
    root.mkdir(exist_ok=True)
    with Disk(root, fault) as disk:
        work()
    return disk


def numbers(calls: list[Call], kind: str, stride: int) -> Iterator[int]:
    """Yield the numbers of calls at which something is to happen, the last ones always."""
    fitting = [number for number in range(1, len(calls) + 1) if differs(calls, number, kind)]
    yield from sorted({*fitting[::-stride], *fitting[-12 : -1 : 5 if stride > 1 else 1]})


def differs(calls: list[Call], number: int, kind: str) -> bool:
    """Whether what happens at a call is not what happens at another one, too."""
    call = calls[number - 1]
    if kind == "half":
        return call.name == "write"
    if kind == "before":  # nothing on the disk of a dead process changes by waiting for it
        return number == 1 or calls[number - 2].name != "fsync"
    alike = [each for each in calls if sort(each) == sort(call)]
    return call is alike[0] or call is alike[-1]


def sort(call: Call) -> tuple[str, str, bool]:
    """Return what a call does, in any round."""
    return call.name, re.sub(r"\d+", "N", str(call.path)), call.name == "open" and call.extra


@in_order
@POINTS
# After a call is before the next one.
@pytest.mark.parametrize("when", ["before", "half"])
def test_after_a_crash_at_any_call_the_run_goes_on_as_if_nothing_had_been(
    kind: Kind,
    when: Literal["before", "half"],
    stride: int,
    references: References,
    tmp_path: Path,
    capsys: Output,
) -> None:
    calls = calls_of(kind, tmp_path / "counted")
    first, wrong = first_saved(calls), {}
    for number in numbers(calls, when, stride):
        root = tmp_path / "crashed"
        disk = crashed(root, lambda: begun(kind, root / FOLDER), Fault(number, when))  # noqa: B023
        assert disk.dead
        lost = number < first + (when == "before")
        found = troubles(root / FOLDER, references[kind], lost, capsys)
        if found:
            wrong[number, str(calls[number - 1])[:120]] = found
        shutil.rmtree(root)
    assert not wrong


@KINDS
@pytest.mark.parametrize(
    "pairs", [pytest.param(5, id="some"), pytest.param(40, id="many", marks=pytest.mark.slow)]
)
def test_two_crashes_are_not_worse_than_one(
    kind: Kind, pairs: int, references: References, tmp_path: Path, capsys: Output
) -> None:
    calls, rng, wrong = calls_of(kind, tmp_path / "counted"), np.random.default_rng(6), {}
    first = first_saved(calls)
    for _ in range(pairs):
        # Here the thread saves during the rounds, so the order of the calls depends on chance.
        one, two = (int(each) for each in rng.integers((first + 1, 1), len(calls) + 1))
        root = tmp_path / "crashed"
        crashed(root, lambda: begun(kind, root / FOLDER), Fault(one, "half"))  # noqa: B023
        crashed(root, lambda: resumed(root / FOLDER), Fault(two, "half"))  # noqa: B023
        found = troubles(root / FOLDER, references[kind], False, capsys)
        if found:
            wrong[one, two] = found
        shutil.rmtree(root)
    assert not wrong


@in_order
@POINTS
def test_a_full_disk_ends_the_run_with_a_sentence_and_later_it_goes_on(
    kind: Kind, stride: int, references: References, tmp_path: Path, capsys: Output
) -> None:
    calls, wrong = calls_of(kind, tmp_path / "counted"), {}
    for at in numbers(calls, "error", stride):
        root = tmp_path / "full"
        root.mkdir()
        with Disk(root, Fault(at, "error", errno.ENOSPC)):
            code = begun(kind, root / FOLDER)
        found = after_an_error(code, root, capsys)
        if (root / FOLDER).exists():
            found += troubles(root / FOLDER, references[kind], False, capsys)
        if found:
            wrong[at, str(calls[at - 1])[:120]] = found
        shutil.rmtree(root)
    assert not wrong


def after_an_error(code: int, root: Path, output: Output) -> list[str]:
    """Return the files that a run should not have left after an error."""
    said = output.readouterr().err
    sentence = said.startswith("Error: ") and said.count("\n") == 1
    # Files that are no longer needed may stay if they cannot be removed: no failure.
    wrong = [] if (code == 2 and sentence) or (code == 0 and not said) else [f"{code}: {said}"]
    names = [path for path in root.rglob("*") if path.name.endswith(".part")]
    wrong += [str(path) for path in names]
    if not (root / FOLDER / "rounds.csv").exists():
        return wrong + [str(path) for path in root.iterdir()]
    return wrong + torn(root / FOLDER)


def torn(folder: Path) -> list[str]:
    """Return the tables with an incomplete last line, or one that is not of the last round."""
    tables = {name: (folder / name).read_text() for name in ("rounds.csv", "timings.csv")}
    last = {name: text.splitlines()[-1].split(",")[0] for name, text in tables.items()}
    ends = [name for name, text in tables.items() if not text.endswith("\n")]
    return ends + ([] if len(set(last.values())) == 1 else [f"{last}"])


@in_order
def test_what_a_run_begins_with_is_given_back_with_its_folder(
    tmp_path: Path, capsys: Output
) -> None:
    calls = calls_of(FLEXCFL, tmp_path / "counted")
    labels = FOLDER / "labels.csv"
    after = next(number for number, call in enumerate(calls, start=1) if call.extra == labels)
    for at in range(after, first_saved(calls) + 1):
        root = tmp_path / f"full-{at}"
        root.mkdir()
        with Disk(root, Fault(at, "error", errno.ENOSPC)):
            assert begun(FLEXCFL, root / FOLDER) == 2
        assert list(root.iterdir()) == []


def test_a_dead_process_changes_nothing_any_more(tmp_path: Path) -> None:
    with Disk(tmp_path, Fault(2, "half")) as disk:
        file = os.open(tmp_path / "a", os.O_CREAT | os.O_WRONLY)
        with pytest.raises(DeathError):
            os.write(file, b"12345678")
        with pytest.raises(DeathError):
            os.unlink(tmp_path / "a")  # noqa: PTH108
    assert (tmp_path / "a").read_bytes() == b"1234"
    assert [call.name for call in disk.calls] == ["open", "write"]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.close(file)


@in_order
def test_where_there_is_no_checkpoint_yet_the_run_can_be_begun_anew(
    references: References, tmp_path: Path, capsys: Output
) -> None:
    folder = tmp_path / FOLDER
    crashed(tmp_path, lambda: begun(FLEXCFL, folder), Fault(9))
    assert resumed(folder) == 2
    assert "never began: remove the folder" in capsys.readouterr().err
    shutil.rmtree(folder)
    assert begun(FLEXCFL, folder) == 0
    assert differences(folder, references[FLEXCFL]) == []
