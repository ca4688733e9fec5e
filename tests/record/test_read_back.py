"""Finished runs are read back exactly, and nothing is read from damaged files."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flexcfl
from flexcfl.errors import SettingsError
from flexcfl.record.lock import locked
from flexcfl.record.reading import is_finished, read_back
from flexcfl.runner.result import Run

SETTINGS: dict[str, Any] = {"algorithm": "flexcfl", "rounds": 3, "cohort": 5, "epochs": 1}
SUMMARY = "summary.json"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("finished") / "run"
    assigned = {"data.clients": 10, "algorithm.alpha": 2, "run.evaluate_every": 2}
    return flexcfl.run(**SETTINGS, set=assigned, out=out)


@pytest.fixture
def path(run: Run, tmp_path: Path) -> Path:
    assert run.folder is not None
    return shutil.copytree(run.folder, tmp_path / "run")


def test_what_a_run_found_is_read_back_as_it_was(run: Run, path: Path) -> None:
    found = read_back(path, run.experiment)
    assert found.summary == run.summary
    assert found.rounds.keys() == run.rounds.keys()
    for name, values in found.rounds.items():
        assert np.array_equal(values, run.rounds[name], equal_nan=True), name
    assert np.isnan(found.rounds["accuracy"][0])  # which was not evaluated
    assert np.isfinite(found.rounds["loss"]).all()
    assert np.isnan(found.rounds["honest_accuracy"]).all()  # because no client attacks


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def edit(content: bytes) -> bytes:
        summary = json.loads(content)
        change(summary)
        return json.dumps(summary).encode()

    return edit


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        (SUMMARY, lambda _: b""),
        (SUMMARY, lambda _: b"[" * 100_000),
        (SUMMARY, lambda _: b"\xff"),
        (SUMMARY, lambda content: content[:-20]),
        (SUMMARY, lambda content: content + b" " * 2**20),
        (SUMMARY, edited(lambda summary: summary.pop("seconds"))),
        (SUMMARY, edited(lambda summary: summary.update(migrations="7"))),
        (SUMMARY, edited(lambda summary: summary.update(migrations=7.5))),
        (SUMMARY, edited(lambda summary: summary.update(diverged="all"))),
        (SUMMARY, edited(lambda summary: summary.update(seconds=float("nan")))),
        (SUMMARY, edited(lambda summary: summary["accuracy"].update(best=float("inf")))),
        (SUMMARY, edited(lambda summary: summary["accuracy"].update(first_round="2"))),
        (SUMMARY, edited(lambda summary: summary.update(seed=1))),
        (SUMMARY, edited(lambda summary: summary.update(algorithm="ifca"))),
        (SUMMARY, edited(lambda summary: summary.update(rounds=4))),
        ("rounds.csv", lambda _: b""),
        ("rounds.csv", lambda content: content.replace(b"accuracy", b"accurazy", 1)),
        ("rounds.csv", lambda content: content[: content.rindex(b"\n3,") + 1]),
        (
            "rounds.csv",
            lambda content: content + content[content.rindex(b"\n3,") + 1 :],
        ),
        ("rounds.csv", lambda content: content.replace(b"\n3,0.", b"\n3,9.")),
        ("rounds.csv", lambda content: content.replace(b"\n3,0.", b"\n3,nan ")),
        ("rounds.csv", lambda content: content.replace(b"\n3,0.", b"\n3,x")),
        ("experiment.toml", lambda _: b"="),
    ],
)
def test_damage_is_reported_in_a_sentence(
    name: str, edit: Callable[[bytes], bytes], run: Run, path: Path
) -> None:
    before = (path / name).read_bytes()
    (path / name).write_bytes(edit(before))
    assert (path / name).read_bytes() != before
    with pytest.raises(SettingsError, match=f"'{path / name}' is damaged: move the folder"):
        read_back(path, run.experiment)


def test_groups_must_go_as_far_as_the_rounds(run: Run, path: Path) -> None:
    tables = ("rounds.csv", "groups.csv")
    assert read_back(path, run.experiment, tables).groups["round"].max() == 3
    whole = (path / "groups.csv").read_bytes()
    for damaged in (whole[: whole.index(b"\n2,") + 1], b"round\n1\n"):
        (path / "groups.csv").write_bytes(damaged)
        with pytest.raises(SettingsError, match=f"'{path}/groups.csv' is damaged"):
            read_back(path, run.experiment, tables)


@given(st.integers(min_value=0), st.binary(max_size=4))
def test_no_damage_of_a_summary_leads_to_another_error(
    run: Run, tmp_path_factory: pytest.TempPathFactory, place: int, patch: bytes
) -> None:
    assert run.folder is not None
    path = tmp_path_factory.getbasetemp() / "patched"
    if not path.exists():
        shutil.copytree(run.folder, path)
    whole = (run.folder / SUMMARY).read_bytes()
    place %= len(whole)
    (path / SUMMARY).write_bytes(whole[:place] + patch + whole[place + len(patch) :])
    with suppress(SettingsError):
        found = read_back(path, run.experiment).summary
        assert found is not None
        assert found.keys() >= {"accuracy", "traffic"}


@pytest.mark.parametrize("name", [SUMMARY, "rounds.csv", "experiment.toml"])
def test_a_file_that_is_no_file_is_damage(name: str, run: Run, path: Path) -> None:
    (path / name).unlink()
    (path / name).mkdir()
    with pytest.raises(SettingsError, match="is damaged"):
        read_back(path, run.experiment)


def test_the_run_of_another_experiment_is_refused(run: Run, path: Path) -> None:
    file = path / "experiment.toml"
    file.write_text(file.read_text().replace("batch = 10", "batch = 20"))
    with pytest.raises(SettingsError, match=r"is another one \(\[local\] batch differs\)"):
        read_back(path, run.experiment)


def test_a_link_is_not_looked_into(path: Path, tmp_path: Path) -> None:
    assert is_finished(path)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(SettingsError, match="is a link"):
        is_finished(tmp_path / "link")


def test_what_a_run_left_that_was_killed_in_the_last_moment_goes(run: Run, path: Path) -> None:
    before = set(path.rglob("*"))
    (path / "checkpoints").mkdir()
    (path / "checkpoints" / "round-3.json").touch()
    (path / ".lock").touch()
    read_back(path, run.experiment)
    assert set(path.rglob("*")) == before


def test_what_another_process_is_about_to_remove_is_left_to_it(run: Run, path: Path) -> None:
    (path / "checkpoints").mkdir()
    with locked(path):
        read_back(path, run.experiment)
        assert (path / "checkpoints").exists()
