from pathlib import Path

import pytest

from flexcfl.data.files import cache, files_in, find, located, places
from flexcfl.data.sources import SOURCES, Source
from flexcfl.errors import DataError

MNIST = SOURCES["mnist"]


def fill(folder: Path, source: Source = MNIST, suffix: str = "") -> Path:
    folder.mkdir(parents=True)
    for file in source.sha256:
        (folder / f"{file}{suffix}").write_bytes(b"")
    return folder


def test_a_given_folder_goes_before_the_variable_and_that_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, given = tmp_path / "variable", tmp_path / "given"
    variable.mkdir()
    given.mkdir()
    monkeypatch.setenv("FLEXCFL_DATA", str(variable))
    for root in (cache(), variable, given):
        fill(root / "mnist")
        found = find("mnist", given)
        assert {path.parent for path in found.values()} == {root / "mnist"}


def test_a_folder_without_the_files_does_not_hide_the_cache(tmp_path: Path) -> None:
    fill(cache() / "mnist", suffix=".gz")
    (tmp_path / "given" / "mnist").mkdir(parents=True)
    found = find("mnist", tmp_path / "given")
    assert {path.parent for path in found.values()} == {cache() / "mnist"}


def test_files_are_never_gathered_from_two_places(tmp_path: Path) -> None:
    fill(cache() / "mnist")
    given = fill(tmp_path / "given" / "mnist")
    (given / "t10k-labels-idx1-ubyte").unlink()
    assert {path.parent for path in find("mnist", tmp_path / "given").values()} == {
        cache() / "mnist"
    }


def test_the_folder_of_debians_package_is_the_last_place(tmp_path: Path) -> None:
    fashion = SOURCES["fashion-mnist"]
    assert places(fashion)[-1] == Path("/usr/share/datasets/fashion-mnist")
    installed = tmp_path / "installed"
    source = Source("fashion-mnist", fashion.sha256, (), installed=(installed,))
    fill(installed, source, ".gz")
    found = located(source, places(source))
    assert found is not None
    assert {path.parent for path in found.values()} == {installed}


def test_a_compressed_file_goes_before_a_plain_one(tmp_path: Path) -> None:
    fill(tmp_path / "mnist")
    packed = tmp_path / "mnist" / "train-labels-idx1-ubyte.gz"
    packed.write_bytes(b"")
    paths = files_in(tmp_path / "mnist", MNIST)
    assert paths["train-labels-idx1-ubyte"] == packed
    assert paths["train-images-idx3-ubyte"].suffix == ""


def test_missing_files_are_named_with_all_places_and_the_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, variable = tmp_path / "given", tmp_path / "variable"
    monkeypatch.setenv("FLEXCFL_DATA", str(variable))
    given.mkdir()
    (fill(variable / "mnist") / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError) as caught:
        find("mnist", given)
    assert str(caught.value) == (
        f"'mnist' lacks t10k-labels-idx1-ubyte (plain or .gz) in '{given / 'mnist'}', "
        f"'{variable / 'mnist'}', '{cache() / 'mnist'}': run 'flexcfl data fetch mnist', "
        "or name the data folder with --data or FLEXCFL_DATA."
    )


def test_a_data_folder_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match=r"is not a folder: correct --data"):
        find("mnist", tmp_path / "none")
    monkeypatch.setenv("FLEXCFL_DATA", str(tmp_path / "none"))
    with pytest.raises(DataError, match=r"^FLEXCFL_DATA names .* correct or unset it"):
        find("mnist")


def test_a_stale_variable_does_no_harm_beside_a_given_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEXCFL_DATA", str(tmp_path / "none"))
    fill(tmp_path / "given" / "mnist")
    assert len(find("mnist", tmp_path / "given")) == 4


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEXCFL_DATA", "")
    assert places(MNIST) == [cache() / "mnist"]
