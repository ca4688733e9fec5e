import dataclasses
from pathlib import Path

import numpy as np
import pytest

import flexcfl.data
from flexcfl.data import DATASETS, load_federation
from flexcfl.data.files import SOURCES
from flexcfl.data.options import FolderOptions, PoolOptions
from flexcfl.errors import DataError, FlexcflError, SettingsError
from flexcfl.settings import validated
from tests.data.own import uses_every_example_once

POOLS = [name for name, each in DATASETS.items() if issubclass(each.options, PoolOptions)]
OWN = [name for name, each in DATASETS.items() if issubclass(each.options, FolderOptions)]


def test_the_names_are_those_that_users_know() -> None:
    names = ["digits", "synthetic", "clusters", "mnist", "femnist", "fashion-mnist", "leaf", "npz"]
    assert list(DATASETS) == names
    assert [each.name for each in DATASETS.values()] == names
    assert POOLS == ["digits", "mnist", "femnist", "fashion-mnist"]


def test_all_that_is_exported_is_there() -> None:
    assert all(hasattr(flexcfl.data, name) for name in flexcfl.data.__all__)


@pytest.mark.parametrize("name", [name for name in DATASETS if name not in OWN])
def test_settings_have_defaults_and_survive_being_written_down(name: str) -> None:
    options = validated(DATASETS[name].options, {}, name)
    table = {key: value for key, value in dataclasses.asdict(options).items() if value is not None}
    assert validated(DATASETS[name].options, table, name) == options


def test_defaults_are_those_of_the_literature() -> None:
    assert DATASETS["mnist"].options().seed == 733
    assert DATASETS["mnist"].options().classes_per_client == 2
    assert DATASETS["femnist"].options().seed == 748
    assert DATASETS["fashion-mnist"].options().seed == 233
    synthetic = dataclasses.asdict(DATASETS["synthetic"].options())
    assert synthetic == {"alpha": 1.0, "beta": 1.0, "clients": 100, "seed": 0}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize(
    "options",
    [
        {"partition": "iid", "clients": 7},
        {"partition": "classes", "clients": 11, "classes_per_client": 3, "skew": 0.0},
        {"partition": "dirichlet", "clients": 13, "concentration": 1e-3, "test_share": 0.5},
    ],
)
def test_every_pool_can_be_divided_anew(
    small_files: Path, name: str, options: dict[str, object]
) -> None:
    federation = load_federation(name, small_files, **options)
    assert federation.clients == options["clients"]
    assert uses_every_example_once(federation)
    again = load_federation(name, small_files, **options)
    np.testing.assert_array_equal(federation.train.indices, again.train.indices)
    other = load_federation(name, small_files, **options, seed=5)
    assert federation.train.indices.tolist() != other.train.indices.tolist()


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("mnist", {"clinets": 5}, "mnist has no setting 'clinets': did you mean 'clients'?"),
        ("synthetic", {"clients": 0}, "synthetic clients must be greater than or equal to 1"),
        ("synthetic", {"alpha": -1.0}, "synthetic alpha must be greater than or equal to 0"),
        ("synthetic", {"beta": float("inf")}, "synthetic beta must be a finite number, not inf."),
        ("synthetic", {"seed": 2**32}, "synthetic seed must be less than 4294967296"),
        ("digits", {"partition": "published"}, "digits partition must be 'classes', 'dirichlet'"),
        ("digits", {"concentration": 0.0}, "digits concentration must be greater than 0, not 0.0."),
        ("digits", {"test_share": 1.0}, "digits test_share must be less than 1, not 1.0."),
        ("synthetic", {"alpha": 1e308}, "synthetic alpha must be less than or equal to 1000000"),
        ("synthetic", {"beta": 1e308}, "synthetic beta must be less than or equal to 1000000"),
        ("clusters", {"clusters": 91}, "clusters clusters must be at most 90, the number of clie"),
        ("clusters", {"features": 1, "classes": 2}, "clusters clusters must be at most 2, the num"),
        ("clusters", {"noise": 1.5}, "clusters noise must be less than or equal to 1, not 1.5."),
        ("leaf", {}, "leaf folder must be given: name the folder that holds 'train' and 'test' "),
        ("npz", {}, "npz folder must be given: name the folder that holds an .npz file for each "),
        ("npz", {"folder": "x", "test_share": 0.0}, "npz test_share must be greater than 0, not 0"),
        (
            "digits",
            {"concentration": 1.0},
            "digits concentration is for partition = 'dirichlet' and does not apply to 'classes'.",
        ),
        (
            "mnist",
            {"clients": 1000},
            "mnist clients is for partition = 'classes' or 'dirichlet' or 'iid' and does not "
            "apply to 'published'.",
        ),
        (
            "fashion-mnist",
            {"classes_per_client": 2},
            "fashion-mnist classes_per_client is for partition = 'classes' and does not apply to "
            "'published'.",
        ),
        (
            "femnist",
            {"partition": "iid", "classes_per_client": 2},
            "femnist classes_per_client is for partition = 'classes' and does not apply to 'iid'.",
        ),
    ],
)
def test_a_mistaken_setting_is_one_sentence(
    name: str, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_federation(name, **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(sentence)


def test_an_unknown_dataset_is_told_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match=r"no dataset 'minst': did you mean 'mnist'\?"):
        load_federation("minst")


@pytest.mark.parametrize("name", ["mnist", "femnist", "fashion-mnist"])
def test_missing_files_are_a_sentence(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"run 'flexcfl data fetch {name}'"):
        load_federation(name, tmp_path)


@pytest.mark.parametrize("name", ["mnist", "femnist", "fashion-mnist"])
def test_a_damaged_file_is_a_sentence(name: str, small_files: Path) -> None:
    for path in (small_files / SOURCES[name].folder).iterdir():
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(FlexcflError, match=path.name):
            load_federation(name, small_files)
        path.write_bytes(whole)


def test_more_clients_than_examples_are_a_sentence() -> None:
    with pytest.raises(DataError, match="1797 examples are not enough for 1798 clients"):
        load_federation("digits", partition="iid", clients=1798)
