"""A run found again: the newest checkpoint that can be used, and why others cannot."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexcfl.errors import SettingsError
from flexcfl.protocol import state_type
from flexcfl.record.checkpoints import FoundCheckpoint
from flexcfl.runner.origin import Origin
from flexcfl.runner.prepare import Prepared
from flexcfl.runner.restoring import Restored, restore
from tests.record.checkpoints.hostile import at, lay, newest
from tests.record.checkpoints.interrupted import check_values, prepared, stopped

SHIFTING: dict[str, Any] = {"shift": "swap-all", "shift__probability": 0.5}


@pytest.fixture(scope="module")
def ready() -> Prepared:
    return prepared(**SHIFTING)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that was stopped after its third round: it has that checkpoint and the first."""
    folder = tmp_path_factory.mktemp("made") / "run"
    stopped(prepared(**SHIFTING), folder, 3)
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "run")
    return tmp_path / "run"


def found(folder: Path, ready: Prepared) -> Restored:
    return restore(folder, ready, Origin.of(ready))


def test_all_of_the_newest_is_there(run: Path, ready: Prepared) -> None:
    again = found(run, ready)
    assert again.number == 3
    assert again.remarks == ()
    assert again.past is not None
    assert isinstance(again.past.state, state_type(ready.algorithm))
    assert again.serving is not None
    check_values(again.past.model_of, again.serving.model_of)
    assert [row.round for row in again.rows["rounds.csv"]] == [1, 2, 3]
    assert again.memory is not None
    assert again.memory.world.number == 3
    assert again.extents["rounds.csv"].length == (run / "rounds.csv").stat().st_size
    assert again.about.seconds > 0


def test_from_the_start_there_is_nothing_but_the_origin(run: Path, ready: Prepared) -> None:
    (run / "checkpoints" / "round-3.json").unlink()
    again = found(run, ready)
    assert (again.number, again.past, again.serving, again.memory) == (0, None, None, None)
    assert again.extents == {}
    assert not any(again.rows.values())


def spoilt_table(run: Path) -> str:
    (run / "groups.csv").write_text("round\n")
    return "'groups.csv' has changed since the checkpoint was made"


def lost_table(run: Path) -> str:
    (run / "rounds.csv").unlink()
    return "'rounds.csv' cannot be read"


def fewer_clients(run: Path) -> str:
    body, arrays = newest(run)
    place = at(body, ("content", "state", "group_of"))
    arrays[place] = arrays[place][:-1]
    lay(run, body, arrays)
    return "its state is not of these clients"


def group_that_is_none(run: Path) -> str:
    body, arrays = newest(run)
    place = at(body, ("content", "state", "group_of"))
    arrays[place] = np.full_like(arrays[place], 2)
    lay(run, body, arrays)
    return "its state is not of these clients"


def other_model(run: Path) -> str:
    body, arrays = newest(run)
    lay(run, body, [each[..., :-1] if each.dtype == np.float32 else each for each in arrays])
    return "vectors of shape"


def other_state(run: Path) -> str:
    body, _ = newest(run)
    del body["content"]["state"]["drifted"]
    lay(run, body)
    return "the fields models, group_of, drifted, origin, directions, clustering are wanted"


def no_run(run: Path) -> str:
    body, _ = newest(run)
    lay(run, {**body, "content": {"about": 1}})
    return "it is not of a run"


DAMAGES = [
    spoilt_table, lost_table, fewer_clients, group_that_is_none, other_model, other_state, no_run
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_one_before_is_used_and_the_reason_reported(
    damage: Callable[[Path], str], run: Path, ready: Prepared
) -> None:
    reason = damage(run)
    again = found(run, ready)
    assert again.number == 0
    (remark,) = again.remarks
    assert f"'{run / 'checkpoints' / 'round-3.json'}' cannot be used: " in remark
    assert reason in remark


@pytest.mark.parametrize("damage", DAMAGES)
def test_where_there_is_no_other_the_sentence_says_what_to_do(
    damage: Callable[[Path], str], run: Path, ready: Prepared
) -> None:
    (run / "checkpoints" / "round-0.json").unlink()
    reason = damage(run)
    with pytest.raises(
        SettingsError, match=r"There is no checkpoint in .* to go on with"
    ) as caught:
        found(run, ready)
    assert reason in str(caught.value)
    assert "begin anew with flexcfl.run, or give it the same data" in str(caught.value)


def test_a_folder_without_checkpoints_is_reported(run: Path, ready: Prepared) -> None:
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(SettingsError, match=r"There is no checkpoint in '.*' to go on with: begin"):
        found(run, ready)


def test_another_run_is_refused_whatever_checkpoints_there_are(run: Path) -> None:
    with pytest.raises(SettingsError, match=r"\[local\] rate is not what it was"):
        found(run, prepared(rate=0.3, **SHIFTING))


def test_other_versions_are_a_remark(run: Path, ready: Prepared) -> None:
    body, _ = newest(run)
    at(body, ("content", "about", "origin", "versions", 2))[1] = "0.1"
    lay(run, body)
    again = found(run, ready)
    assert again.number == 3
    (remark,) = again.remarks
    assert "(was 0.1) the rest may differ" in remark


def test_what_makes_no_sense_later_is_reported_as_such(run: Path, ready: Prepared) -> None:
    again = found(run, ready)
    assert isinstance(again.found, FoundCheckpoint)
    for error in (IndexError("x"), ValueError("x"), KeyError("x"), TypeError("x")):
        with (
            pytest.raises(SettingsError, match="The checkpoint of round 3 leads to an error"),
            again.trusted(),
        ):
            raise error
    with pytest.raises(OSError, match="disk"), again.trusted():
        raise OSError("disk")
