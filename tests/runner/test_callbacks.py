"""Callbacks hear of a run from its beginning to its end, whatever end that is, and change none."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.record.tables import Round
from flexcfl.runner import Beginning, Run
from tests.record.checkpoints.interrupted import content

ROUNDS, CHECKPOINT = 5, 3


@dataclass
class Diary(flexcfl.Callback):
    """Notes all calls, and raises in round ``fails``."""

    heard: list[str] = field(default_factory=list)
    fails: int | None = None
    fails_at_end: bool = False
    beginning: Beginning | None = None

    def begin(self, beginning: Beginning) -> None:
        self.beginning = beginning
        self.heard.append(f"begin after {beginning.before}")

    def round(self, done: Round) -> None:
        if done.figures.round == self.fails:
            raise OSError("no more ink")
        self.heard.append(f"round {done.figures.round}")

    def end(self, run: Run) -> None:
        if self.fails_at_end:
            raise OSError("no more paper")
        self.heard.append(f"end of {run.summary['rounds']}")

    def break_off(self, error: BaseException) -> None:
        self.heard.append(f"broken off: {error}")


class Optional(Diary):
    """One without which a run goes on."""

    optional = True


class Silent(flexcfl.Callback):
    """Has nothing to say to anything."""


def run(blobs: Federation, callbacks: Iterable[flexcfl.Callback], **words: Any) -> Run:
    words = {"rounds": ROUNDS, "cohort": 3, "groups": 2, "shift": "swap-all", **words}
    options = {"algorithm.alpha": 2, "run.checkpoint_rounds": CHECKPOINT, "run.checkpoint_share": 1}
    return flexcfl.run(dataset=blobs, set=options, callbacks=callbacks, **words)


def test_callbacks_are_called_in_order(blobs: Federation, tmp_path: Path) -> None:
    diary = Diary()
    found = run(blobs, [diary, Silent()], out=tmp_path / "run")
    rounds = [f"round {number}" for number in range(1, ROUNDS + 1)]
    assert diary.heard == ["begin after 0", *rounds, f"end of {ROUNDS}"]
    assert diary.beginning is not None
    assert diary.beginning.folder == found.folder
    assert diary.beginning.experiment == found.experiment


def test_a_run_without_a_folder_has_callbacks_as_well(blobs: Federation) -> None:
    diary = Diary()
    run(blobs, iter([diary]))
    assert diary.beginning is not None
    assert diary.beginning.folder is None
    assert len(diary.heard) == ROUNDS + 2


def test_a_run_is_the_same_with_callbacks(blobs: Federation, tmp_path: Path) -> None:
    one, other = run(blobs, [], out=tmp_path / "one"), run(blobs, [Diary()], out=tmp_path / "two")
    np.testing.assert_array_equal(one.models, other.models)
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_what_one_raises_breaks_a_run_off_that_can_go_on(blobs: Federation, tmp_path: Path) -> None:
    before, failing, after = Diary(), Diary(fails=ROUNDS), Diary()
    with pytest.raises(OSError, match="no more ink"):
        run(blobs, [before, failing, after], out=tmp_path / "run")
    assert [each.heard[-1] for each in (before, failing, after)] == ["broken off: no more ink"] * 3
    assert "round 5" in before.heard
    assert "round 5" not in after.heard
    diary = Diary()
    flexcfl.resume(tmp_path / "run", dataset=blobs, callbacks=[diary])
    assert diary.heard == ["begin after 3", "round 4", "round 5", f"end of {ROUNDS}"]
    run(blobs, [], out=tmp_path / "whole")
    assert content(tmp_path / "run") == content(tmp_path / "whole")


def test_without_an_optional_one_that_fails_a_run_goes_on(
    blobs: Federation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Late(Optional):
        def begin(self, beginning: Beginning) -> None:
            raise ValueError("not ready")

    first, last, late, diary = Optional(fails=2), Optional(fails_at_end=True), Late(), Diary()
    run(blobs, [first, late, last, diary], out=tmp_path / "run")
    rounds = [f"round {number}" for number in range(1, ROUNDS + 1)]
    assert first.heard == ["begin after 0", "round 1", "broken off: no more ink"]
    assert late.heard == ["broken off: not ready"]
    assert last.heard == ["begin after 0", *rounds, "broken off: no more paper"]
    assert diary.heard == ["begin after 0", *rounds, f"end of {ROUNDS}"]
    told = capsys.readouterr().err.splitlines()
    head = f"The run in '{tmp_path / 'run'}' continues without "
    whats = [("Late", "ValueError", "not ready")]
    whats += [("Optional", "OSError", what) for what in ("no more ink", "no more paper")]
    for line, (name, kind, what) in zip(told, whats, strict=True):
        assert line.startswith(f"{head}{name}, which failed: {kind} at {__file__}:")
        assert line.endswith(f": {what}.")
    run(blobs, [], out=tmp_path / "whole")
    assert content(tmp_path / "run") == content(tmp_path / "whole")


def test_an_optional_one_may_refuse_a_run_before_it_begins(blobs: Federation) -> None:
    class Refusing(Optional):
        def begin(self, beginning: Beginning) -> None:
            raise SettingsError("There is no paper.")

    refusing, never = Refusing(), Diary()
    with pytest.raises(SettingsError, match="There is no paper"):
        run(blobs, [refusing, never])
    assert (refusing.heard, never.heard) == (["broken off: There is no paper."], [])


def test_one_that_goes_on_hears_of_the_rounds_before(blobs: Federation, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no more ink"):
        run(blobs, [Diary(fails=4)], out=tmp_path / "run")
    diary = Diary()
    found = flexcfl.resume(tmp_path / "run", dataset=blobs, callbacks=[diary])
    assert diary.beginning is not None
    assert [each.round for each in diary.beginning.rounds] == [1, 2, 3]
    assert [each.loss for each in diary.beginning.rounds] == found.rounds["loss"][:3].tolist()
    assert [each.group for each in diary.beginning.groups] == found.groups["group"][:6].tolist()


def test_a_run_of_which_only_the_end_is_missing(blobs: Federation, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no more ink"):
        run(blobs, [Diary(fails=CHECKPOINT)], out=tmp_path / "run", rounds=CHECKPOINT)
    diary = Diary()
    flexcfl.resume(tmp_path / "run", dataset=blobs, callbacks=[diary])
    assert diary.heard == ["begin after 3", "end of 3"]


def test_a_callback_may_fail_at_the_end(blobs: Federation, tmp_path: Path) -> None:
    calm, failing, last = Diary(), Diary(fails_at_end=True), Diary()
    with pytest.raises(OSError, match="no more paper"):
        run(blobs, [calm, failing, last], out=tmp_path / "run")
    assert calm.heard[-1] == f"end of {ROUNDS}"
    assert failing.heard[-1] == last.heard[-1] == "broken off: no more paper"
    assert (tmp_path / "run" / "summary.json").is_file()


def test_the_first_error_is_reported(blobs: Federation) -> None:
    class Worse(Diary):
        def break_off(self, error: BaseException) -> None:
            raise ValueError("even worse")

    diary = Diary()
    with pytest.raises(OSError, match="no more ink"):
        run(blobs, [Worse(fails=1), diary])
    assert diary.heard[-1] == "broken off: no more ink"


def test_a_run_that_cannot_begin_leaves_no_folder(blobs: Federation, tmp_path: Path) -> None:
    class Refusing(Diary):
        def begin(self, beginning: Beginning) -> None:
            raise OSError("not today")

    first, refusing, never = Diary(), Refusing(), Diary()
    with pytest.raises(OSError, match="not today"):
        run(blobs, [first, refusing, never], out=tmp_path / "run")
    assert first.heard == ["begin after 0", "broken off: not today"]
    assert refusing.heard == ["broken off: not today"]
    assert never.heard == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [Diary(), Diary, [Diary], ["mlflow"], "mlflow", None])
def test_what_is_no_list_of_callbacks_is_refused(blobs: Federation, wrong: Any) -> None:
    with pytest.raises(SettingsError, match="callbacks must be a list of objects such as"):
        run(blobs, wrong)
