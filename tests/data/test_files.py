from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flexcfl.cli.data import app
from flexcfl.data.files import (
    SOURCES,
    Source,
    cache_folder,
    files_in,
    find,
    find_complete,
    search_folders,
)
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
    for root in (cache_folder(), variable, given):
        fill(root / "mnist")
        found = find("mnist", given)
        assert {path.parent for path in found.values()} == {root / "mnist"}


def test_a_folder_without_the_files_does_not_hide_the_cache(tmp_path: Path) -> None:
    fill(cache_folder() / "mnist", suffix=".gz")
    (tmp_path / "given" / "mnist").mkdir(parents=True)
    found = find("mnist", tmp_path / "given")
    assert {path.parent for path in found.values()} == {cache_folder() / "mnist"}


def test_files_are_never_gathered_from_two_places(tmp_path: Path) -> None:
    fill(cache_folder() / "mnist")
    given = fill(tmp_path / "given" / "mnist")
    (given / "t10k-labels-idx1-ubyte").unlink()
    assert {path.parent for path in find("mnist", tmp_path / "given").values()} == {
        cache_folder() / "mnist"
    }


def test_the_folder_of_debians_package_is_the_last_place(tmp_path: Path) -> None:
    fashion = SOURCES["fashion-mnist"]
    assert search_folders(fashion)[-1] == Path("/usr/share/datasets/fashion-mnist")
    installed = tmp_path / "installed"
    source = Source("fashion-mnist", fashion.sha256, (), installed=(installed,))
    fill(installed, source, ".gz")
    found = find_complete(source, search_folders(source))
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
        f"'{variable / 'mnist'}', '{cache_folder() / 'mnist'}': run 'flexcfl data fetch mnist', "
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


def test_a_folder_that_rights_keep_from_us_is_told_and_hides_nothing(another_user: Path) -> None:
    place = fill(another_user / "given" / "mnist")
    for closed in (place, place.parent, another_user):
        closed.chmod(0)
        with pytest.raises(DataError) as caught:
            find("mnist", another_user / "given")
        assert str(caught.value) == (
            f"'{place}' cannot be read (Permission denied): check its permissions."
        )
        closed.chmod(0o700)
    fill(cache_folder() / "mnist")
    place.chmod(0)
    assert {path.parent for path in find("mnist", another_user / "given").values()} == {
        cache_folder() / "mnist"
    }


@pytest.fixture
def listed() -> Callable[[Path], str]:
    """Return a caller of ``data list`` whose modules are loaded while root may still read them."""

    def call(folder: Path) -> str:
        arguments = ["list", "--data", str(folder)]
        return CliRunner().invoke(app, arguments, catch_exceptions=False).stdout

    call(Path.cwd())
    return call


def test_a_folder_that_rights_keep_from_us_is_listed_as_such(
    listed: Callable[[Path], str], another_user: Path
) -> None:
    fill(another_user / "mnist").chmod(0)
    shown = listed(another_user)
    assert f"unreadable: {another_user / 'mnist'}" in shown
    assert "missing: flexcfl data fetch femnist" in shown


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEXCFL_DATA", "")
    assert search_folders(MNIST) == [cache_folder() / "mnist"]
