"""Checkpoints that are damaged are noticed and named, and the one before is used."""

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexcfl.cli import main
from flexcfl.record.checkpoints import saver
from tests.reliability.faults import AtOnce, Interrupted
from tests.reliability.small import (
    FESEM,
    ROUNDS,
    Output,
    References,
    begun,
    copied,
    differences,
)

NEWEST, BEFORE = ROUNDS - 1, ROUNDS - 2

pytestmark = pytest.mark.usefixtures("in_order")
DAMAGED = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that has crashed in its last round."""
    root = tmp_path_factory.mktemp("interrupted")
    disk = Interrupted(root)
    disk.number = NEWEST + 1
    with pytest.MonkeyPatch.context() as patch, disk:
        patch.setattr(saver, "ThreadPoolExecutor", AtOnce)
        begun(FESEM, root / "run")
    rounds = sorted(path.name for path in (root / "run" / "checkpoints").glob("round-*"))
    assert rounds == [f"round-{number}.json" for number in (BEFORE, NEWEST)]
    return root / "run"


def said_by_resuming(folder: Path, output: Output, code: int = 0) -> str:
    output.readouterr()
    assert main(["resume", "-q", str(folder)]) == code
    captured = output.readouterr()
    assert captured.out == ""
    return captured.err


def check(
    damage: Callable[[Path], object],
    name: str,
    interrupted: Path,
    references: References,
    place: Path,
    output: Output,
) -> None:
    """Damage a file of the newest checkpoint: it is named in a line, and the run is the same."""
    folder = copied(interrupted, place / "run")
    damage(folder / "checkpoints" / name)
    said = said_by_resuming(folder, output)
    assert f"round-{NEWEST}.json' cannot be used: " in said
    assert said.count("\n") == 1
    assert differences(folder, references[FESEM]) == []


FILES = pytest.mark.parametrize("name", [f"round-{NEWEST}.json", f"arrays-{NEWEST}.safetensors"])


def test_a_whole_one_is_used_without_a_word(
    interrupted: Path, references: References, tmp_path: Path, capsys: Output
) -> None:
    folder = copied(interrupted, tmp_path / "run")
    assert said_by_resuming(folder, capsys) == ""
    assert differences(folder, references[FESEM]) == []


@FILES
@DAMAGED
@given(share=st.floats(0, 1, exclude_max=True))
def test_cut_off_anywhere(
    name: str,
    share: float,
    interrupted: Path,
    references: References,
    tmp_path: Path,
    capsys: Output,
) -> None:
    def cut(path: Path) -> None:
        content = path.read_bytes().rstrip()  # JSON does without the end of its line
        path.write_bytes(content[: int(share * len(content))])

    check(cut, name, interrupted, references, tmp_path, capsys)


@FILES
@DAMAGED
@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_with_one_bit_turned(
    name: str,
    share: float,
    bit: int,
    interrupted: Path,
    references: References,
    tmp_path: Path,
    capsys: Output,
) -> None:
    def turn(path: Path) -> None:
        content = bytearray(path.read_bytes().rstrip())
        content[int(share * len(content))] ^= 1 << bit
        path.write_bytes(content)

    check(turn, name, interrupted, references, tmp_path, capsys)


@pytest.mark.slow
@FILES
def test_with_any_bit_turned(
    name: str, interrupted: Path, references: References, tmp_path: Path, capsys: Output
) -> None:
    length = len((interrupted / "checkpoints" / name).read_bytes().rstrip())
    for place in range(0, length, max(1, length // 60)):

        def turn(path: Path, place: int = place) -> None:
            content = bytearray(path.read_bytes())
            content[place] ^= 1 << place % 8
            path.write_bytes(content)

        check(turn, name, interrupted, references, tmp_path, capsys)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (f"arrays-{NEWEST}.safetensors", Path.unlink),
        (f"arrays-{NEWEST}.safetensors", lambda path: path.write_bytes(b"")),
        (f"round-{NEWEST}.json", lambda path: path.write_bytes(b"")),
    ],
    ids=["no arrays", "empty arrays", "empty"],
)
def test_with_a_file_gone_or_empty(
    name: str,
    damage: Callable[[Path], object],
    interrupted: Path,
    references: References,
    tmp_path: Path,
    capsys: Output,
) -> None:
    check(damage, name, interrupted, references, tmp_path, capsys)


def test_where_both_are_damaged_there_is_a_sentence(
    interrupted: Path, tmp_path: Path, capsys: Output
) -> None:
    folder = copied(interrupted, tmp_path / "run")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for number in (NEWEST, BEFORE):
        path = folder / "checkpoints" / f"round-{number}.json"
        before[path] = path.read_bytes()[:100]
        path.write_bytes(before[path])
    said = said_by_resuming(folder, capsys, code=2)
    assert said.startswith("Error: There is no checkpoint in ")
    assert f"round-{NEWEST}.json' cannot be used: it is not JSON" in said
    assert said.count("\n") == 1
    # What is left may still be useful to a person who can repair it.
    before.pop(folder / ".lock", None)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("row", [1, NEWEST])
def test_a_table_that_was_edited_is_noticed(
    row: int, interrupted: Path, tmp_path: Path, capsys: Output
) -> None:
    folder = copied(interrupted, tmp_path / "run")
    lines = (folder / "rounds.csv").read_text().splitlines(keepends=True)
    lines[row] = f"{lines[row][:-2]}{(int(lines[row][-2]) + 1) % 10}\n"
    (folder / "rounds.csv").write_text("".join(lines))
    said = said_by_resuming(folder, capsys, code=2 if row == 1 else 0)
    noticed = "'rounds.csv' has changed since the checkpoint was made"
    assert f"round-{NEWEST}.json' cannot be used: {noticed}" in said


def test_added_rows_are_removed(
    interrupted: Path, references: References, tmp_path: Path, capsys: Output
) -> None:
    folder = copied(interrupted, tmp_path / "run")
    with (folder / "rounds.csv").open("a") as file:
        file.write("5,0.5,half a li")
    assert said_by_resuming(folder, capsys) == ""
    assert differences(folder, references[FESEM]) == []


def test_a_checkpoint_of_a_later_version_is_reported(
    interrupted: Path, references: References, tmp_path: Path, capsys: Output
) -> None:
    def later(path: Path) -> None:
        whole = json.loads(path.read_bytes())
        body = json.dumps(whole["checkpoint"]).encode()
        path.write_text(json.dumps({**whole, "version": 7, "checksum": zlib.crc32(body)}))

    check(later, f"round-{NEWEST}.json", interrupted, references, tmp_path, capsys)
    folder = copied(interrupted, tmp_path / "other")
    later(folder / "checkpoints" / f"round-{NEWEST}.json")
    assert "it is of version 7, and this flexcfl reads 1" in said_by_resuming(folder, capsys)


def test_without_its_checkpoints_a_run_cannot_go_on(
    interrupted: Path, tmp_path: Path, capsys: Output
) -> None:
    folder = copied(interrupted, tmp_path / "run")
    shutil.rmtree(folder / "checkpoints")
    said = said_by_resuming(folder, capsys, code=2)
    assert said.startswith("Error: There is no checkpoint in ")
