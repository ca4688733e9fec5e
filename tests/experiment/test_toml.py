"""TOML files that cannot be read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.algorithms import FesemOptions
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.layers import SettingsLayer, options_layer
from flexcfl.experiment.resolve import resolve


def refusal(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        toml.read(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_syntax_error_names_the_file_and_the_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("[local]\nrate = 0.1\nbatch 10\n")
    assert "line 3" in refusal(file)


def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none.toml")
    assert "directory" in refusal(tmp_path).lower()


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / "binary.toml"
    file.write_bytes(b"[local]\nrate = \xff")
    assert "byte 15" in refusal(file)


@pytest.mark.parametrize("text", ["a = " + "[" * 50_000, "a = " + "9" * 50_000])
def test_values_beyond_all_measure(tmp_path: Path, text: str) -> None:
    file = tmp_path / "huge.toml"
    file.write_text(text)
    assert "is not TOML" in refusal(file)


@given(st.binary(max_size=200))
def test_any_bytes_are_tables_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(content)
    try:
        toml.read(file)
    except SettingsError as error:
        sentence = str(error)
    else:
        sentence = ""
    assert "\n" not in sentence


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "windows.toml"
    file.write_bytes(b"\xef\xbb\xbf[local]\r\nrate = 0.1\r\n")
    assert toml.read(file) == {"local": {"rate": 0.1}}


@pytest.mark.parametrize("algorithm", ["fesem", "fesem-mig"])
def test_an_experiment_from_before_fesem_could_begin_with_one_model(
    tmp_path: Path, algorithm: str
) -> None:
    file = tmp_path / "old.toml"
    file.write_text(f'[algorithm]\nname = "{algorithm}"\ngroups = 3\n')
    old = resolve([SettingsLayer("file", toml.read(file))]).experiment
    assert old.algorithm.options == FesemOptions(groups=3, start="distinct")
    file.write_text(toml.written(old))  # which says so from now on
    assert resolve([SettingsLayer("file", toml.read(file))]).experiment == old
    file.write_text('[algorithm]\nname = "fesem"\nstart = "common"\n')
    assert toml.read(file)["algorithm"]["start"] == "common"
    now = resolve([options_layer({"algorithm": algorithm}, {})]).experiment
    assert now.algorithm.options.start == "common"
