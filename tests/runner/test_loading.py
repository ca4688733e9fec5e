"""A run is read back from its folder as it was, without its data, or one sentence says why not."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import flexcfl
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS, Federation
from flexcfl.errors import FlexcflError, ModelError, SettingsError
from flexcfl.record.reading import read
from flexcfl.record.record import Record
from flexcfl.record.tables import Columns
from flexcfl.runner import prepare
from flexcfl.shifts import SHIFTS
from tests.record.checkpoints.interrupted import check_values

SMALL: dict[str, Any] = {
    "dataset": "clusters",
    "rounds": 3,
    "cohort": 4,
    "epochs": 1,
    "set": {"data": {"clients": 8, "examples": 20, "features": 4}},
}


def options(algorithm: str) -> dict[str, Any]:
    """Return small numbers for whatever options an algorithm has."""
    small = {"groups": 2, "alpha": 2, "rounds_before": 1, "eps1": 1e9, "eps2": 0.0, "least": 2}
    known = {each.name for each in dataclasses.fields(ALGORITHMS[algorithm].options)}
    return {f"algorithm.{name}": value for name, value in small.items() if name in known}


def small(algorithm: str, **more: Any) -> dict[str, Any]:
    return {
        **SMALL,
        "algorithm": algorithm,
        **more,
        "set": {**SMALL["set"], **options(algorithm), **more.get("set", {})},
    }


def check_table(mine: Columns, theirs: Columns, table: str) -> None:
    assert mine.keys() == theirs.keys()
    for name in mine:
        assert mine[name].dtype == theirs[name].dtype, (table, name)
        np.testing.assert_array_equal(mine[name], theirs[name])


def check_same(one: Record, other: flexcfl.Run) -> None:
    """Compare all data of two runs, except what computes."""
    for each in dataclasses.fields(one):
        if each.name == "engine":
            continue
        mine, theirs = getattr(one, each.name), getattr(other, each.name)
        if each.name in ("models", "newcomer", "auxiliary", "group_of"):
            mine = tuple(mine) if isinstance(mine, list) else mine
            theirs = tuple(theirs) if isinstance(theirs, list) else theirs
            check_values(mine, theirs)
        elif each.name == "tables":
            assert mine.keys() == theirs.keys()
            for name in mine:
                check_table(mine[name], theirs[name], name)
        elif each.name in ("labels", "founders"):
            check_table(mine, theirs, each.name)
        else:
            assert mine == theirs, each.name
    if isinstance(one, flexcfl.Run):
        check_values(one.clustering, other.clustering)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_a_run_is_read_back_as_it_was(algorithm: str, tmp_path: Path) -> None:
    run = flexcfl.run(**small(algorithm), out=tmp_path / "run")
    again = flexcfl.load(tmp_path / "run")
    check_same(again, run)
    check_same(read(tmp_path / "run"), run)  # which needs no models
    assert repr(again) == repr(run)
    assert again._repr_html_() == run._repr_html_()
    assert again.plot("moves").to_json() == run.plot("moves").to_json()
    for group in range(len(run.models)):
        mine, theirs = again.model(group).state_dict(), run.model(group).state_dict()
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.slow
@given(
    algorithm=st.sampled_from(sorted(ALGORITHMS)),
    model=st.sampled_from(["mclr", "mlp"]),
    shift=st.sampled_from([None, *sorted(SHIFTS)]),
    rounds=st.integers(1, 4),
    seed=st.integers(0, 2**63 - 1),
    every=st.integers(1, 3),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_run_is_read_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    algorithm: str,
    model: str,
    shift: str | None,
    rounds: int,
    seed: int,
    every: int,
) -> None:
    folder = tmp_path_factory.mktemp("any") / "run"
    words = small(algorithm, model=model, shift=shift, rounds=rounds, seed=seed)
    words["set"]["run.evaluate_every"] = every
    try:
        run = flexcfl.run(**words, out=folder)
    except FlexcflError:
        return  # a shift that these data do not take
    check_same(flexcfl.load(folder), run)


def test_the_data_are_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flexcfl.run(**small("flexcfl"), out=tmp_path / "run")

    def gone(*_: object) -> Federation:
        raise AssertionError("the data were loaded")

    dataset = dataclasses.replace(DATASETS["clusters"], load=gone)
    monkeypatch.setattr(prepare, "DATASETS", {"clusters": dataset})
    again = flexcfl.load(tmp_path / "run")
    assert again.model()(torch.zeros(2, 4)).shape == (2, again.summary["classes"])


def test_custom_data_and_names_are_read_back(blobs: Federation, tmp_path: Path) -> None:
    names = ("Ann, the first", '"B"', "C\nD", "ü", "-", "6")
    own = dataclasses.replace(blobs, names=names)
    out = tmp_path / "run"
    run = flexcfl.run(dataset=own, algorithm="ifca", groups=2, rounds=2, epochs=1, out=out)
    again = flexcfl.load(out)
    check_same(again, run)
    assert again.names == names


def test_a_run_with_attackers_faults_and_latecomers_is_read_back_and_places_the_others(
    tmp_path: Path,
) -> None:
    more = {
        "attack.name": "label-flip",
        "attack.share": 0.25,
        "faults.dropout": 0.2,
        "data.arrivals": [{"round": 2, "share": 0.25}],
        "run.evaluate_clients": 5,
    }
    run = flexcfl.run(**small("flexcfl", set=more), out=tmp_path / "run")
    again = flexcfl.load(tmp_path / "run")
    check_same(again, run)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 4)), rng.integers(run.summary["classes"], size=30)
    assert again.place(x, y).group == run.place(x, y).group


def two_layers() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 3))


def test_a_custom_model_has_to_be_given_again(blobs: Federation, tmp_path: Path) -> None:
    out = tmp_path / "run"
    words: dict[str, Any] = {"algorithm": "fedavg", "rounds": 2, "epochs": 1, "out": out}
    run = flexcfl.run(dataset=blobs, model=partial(two_layers), **words)
    with pytest.raises(SettingsError, match="has a custom model, which is not in its files"):
        flexcfl.load(out)
    check_same(flexcfl.load(out, model=two_layers), run)
    with pytest.raises(ModelError, match="other names or shapes"):
        flexcfl.load(out, model=lambda: nn.Linear(2, 3))
    path = f"{two_layers.__module__}:two_layers"
    check_same(flexcfl.load(out, model=path), run)
    words["out"] = tmp_path / "named"
    known = flexcfl.run(dataset=blobs, model=two_layers, **words)
    assert known.summary["model"] == path
    check_same(flexcfl.load(tmp_path / "named"), known)


def test_custom_shifts_are_left_out(blobs: Federation, tmp_path: Path) -> None:
    kind: Any = SHIFTS["swap-all"].shift
    out, shift = tmp_path / "run", kind(probability=0.5)
    run = flexcfl.run(
        dataset=blobs, shift={"mine": shift}, algorithm="fedavg", rounds=3, epochs=1, out=out
    )
    again = flexcfl.load(out)
    assert again.experiment.shift == {}
    assert again.summary == run.summary
    restored = dataclasses.replace(again, experiment=run.experiment)
    check_same(restored, run)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    flexcfl.run(**small("flexcfl"), out=folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def test_a_folder_without_a_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is not the folder of a run"):
        flexcfl.load(tmp_path)
    with pytest.raises(SettingsError, match="is not the folder of a run"):
        flexcfl.load(tmp_path / "nowhere")


def test_a_run_that_is_not_finished_is_one_sentence(folder: Path) -> None:
    (folder / "summary.json").unlink()
    with pytest.raises(SettingsError, match=r"not finished: resume it with 'flexcfl resume "):
        flexcfl.load(folder)


def test_a_run_of_an_older_version_is_one_sentence(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    for name in ("shape", "classes", "own"):
        del summary[name]
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(
        SettingsError,
        match=r"is of an earlier version of flexcfl, whose runs cannot be loaded: run it",
    ):
        flexcfl.load(folder)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def swapped(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"1", b"9"))


NEEDED = [
    *("summary.json", "rounds.csv", "groups.csv", "clients.csv", "founders.csv"),
    *("models/group-0.safetensors", "models/group-1.safetensors", "models/auxiliary.safetensors"),
    *("newcomer/round-3.json", "newcomer/arrays-3.safetensors"),
]


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize("damage", [emptied, halved])
def test_damage_is_one_sentence(folder: Path, name: str, damage: Callable[[Path], None]) -> None:
    damage(folder / name)
    if (name, damage) == ("groups.csv", emptied):
        pytest.skip("a run may have no groups to tell of")
    with pytest.raises(FlexcflError) as caught:
        flexcfl.load(folder)
    assert str(caught.value).endswith(".")
    assert str(folder) in str(caught.value)


def test_founders_without_points_are_one_sentence(folder: Path) -> None:
    lines = (folder / "founders.csv").read_text().splitlines()
    shortened = (",".join(line.split(",")[:2]) for line in lines)
    (folder / "founders.csv").write_text("".join(f"{line}\n" for line in shortened))
    with pytest.raises(SettingsError, match="cannot be loaded, because its files are damaged"):
        flexcfl.load(folder)


@pytest.mark.parametrize("name", ["models/group-1.safetensors", "newcomer/round-3.json"])
def test_what_is_missing_is_one_sentence(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(SettingsError, match="cannot be loaded, because its files are damaged"):
        flexcfl.load(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shape", []),
        ("shape", [0]),
        ("shape", ["4"]),
        ("shape", [2**30, 2**30]),
        ("classes", -1),
        ("rounds", 7),
        ("groups", 1),
        ("algorithm", "ifca"),
        ("own", None),
        ("accuracy", 3),
        ("traffic", None),
        ("clustering", {}),
    ],
)
def test_a_changed_summary_is_one_sentence(folder: Path, key: str, value: Any) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, key: value}))
    with pytest.raises(FlexcflError) as caught:
        flexcfl.load(folder)
    assert str(caught.value).endswith(".")


@pytest.mark.slow
@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_with_any_content_is_loaded_or_refused_in_a_sentence(
    finished: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = shutil.copytree(finished, tmp_path_factory.mktemp("any") / "run")
    file = folder / data.draw(st.sampled_from([*NEEDED, "experiment.toml", "labels.csv"]))
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    file.write_bytes(content)
    with suppress(FlexcflError):
        flexcfl.load(folder).place(np.zeros((3, 4)), np.array([0, 1, 0]))
