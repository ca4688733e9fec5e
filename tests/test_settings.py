import math
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from flexcfl.errors import SettingsError
from flexcfl.protocol import Local
from flexcfl.settings import assignments, validated


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Sample:
    folder: Path
    clients: Annotated[int, Field(ge=1)] = 10
    share: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.1
    partition: Literal["published", "iid"] = "iid"
    shape: tuple[int, ...] | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.clients == 13:
            raise ValueError("clients must not be 13.")


def refusal(table: dict[str, object]) -> str:
    with pytest.raises(SettingsError) as caught:
        validated(Sample, {"folder": "here", **table}, "[data]")
    return str(caught.value)


def test_a_good_table_becomes_a_value() -> None:
    sample = validated(Sample, {"folder": "here", "clients": 3, "shape": [1, 2]}, "[data]")
    assert sample == Sample(Path("here"), clients=3, shape=(1, 2))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"clinets": 3}, "[data] has no setting 'clinets': did you mean 'clients'?"),
        (
            {"zzz": 3},
            "[data] has no setting 'zzz': it has folder, clients, share, partition, shape, quiet.",
        ),
        ({"clients": 0}, "[data] clients must be greater than or equal to 1, not 0."),
        ({"clients": 1.5}, "[data] clients must be a whole number, not 1.5."),
        ({"clients": "many"}, "[data] clients must be a whole number, not 'many'."),
        ({"clients": True}, "[data] clients must not be true: give a value."),
        ({"clients": 13}, "[data] clients must not be 13."),
        ({"share": math.nan}, "[data] share must be a finite number, not nan."),
        ({"share": "half"}, "[data] share must be a number, not 'half'."),
        ({"partition": "idd"}, "[data] partition must be 'published' or 'iid', not 'idd'."),
        ({"shape": 5}, "[data] shape must be a list, not 5."),
        ({"shape": [1, "a"]}, "[data] shape.1 must be a whole number, not 'a'."),
        ({"quiet": "perhaps"}, "[data] quiet must be true or false, not 'perhaps'."),
        ({"folder": 5}, "[data] folder must be a path, not 5."),
    ],
)
def test_a_mistake_is_one_sentence(table: dict[str, object], sentence: str) -> None:
    assert refusal(table) == sentence


def test_a_misspelled_name_is_reported_before_the_setting_that_is_then_missing() -> None:
    with pytest.raises(SettingsError, match="did you mean 'folder'"):
        validated(Sample, {"fodler": "here"}, "[data]")


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^\[data\] needs the setting 'folder'"):
        validated(Sample, {}, "[data]")


def test_something_other_than_a_table_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"^\[data\] must be a table of settings, not 5\.$"):
        validated(Sample, 5, "[data]")  # type: ignore[arg-type]


def test_a_long_value_is_cut_short() -> None:
    assert len(refusal({"clients": "x" * 10_000})) < 200


def test_the_settings_of_local_training_are_reported_the_same_way() -> None:
    with pytest.raises(SettingsError, match=r"^\[local\] rate must be greater than 0, not -1\.$"):
        validated(Local, {"rate": -1}, "[local]")


def test_a_false_flag_stays_false() -> None:
    assert validated(Sample, {"folder": "here", "quiet": False}, "[data]").quiet is False


def test_assignments_read_toml_values_and_plain_words() -> None:
    words = ["a=1", "b = 0.5", "c=iid", "d=[1, 2]", "e=true", "f='x=y'", "g=a=b", "h="]
    expected = {"a": 1, "b": 0.5, "c": "iid", "d": [1, 2], "e": True, "f": "x=y", "g": "a=b"}
    assert assignments(words) == {**expected, "h": ""}


@pytest.mark.parametrize("word", ["clients", "=5", "", " =5"])
def test_a_word_that_assigns_nothing_is_refused(word: str) -> None:
    with pytest.raises(SettingsError, match="KEY=VALUE"):
        assignments([word])
    with pytest.raises(SettingsError, match=r"such as local\.rate=1\.$"):
        assignments([word], example="local.rate=1")


@given(st.text(), st.text())
def test_any_text_can_be_assigned(key: str, value: str) -> None:
    try:
        table = assignments([f"{key}={value}"])
    except SettingsError:
        assert not key.split("=")[0].strip()
    else:
        assert len(table) == 1


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Nothing:
    pass


def test_a_table_without_settings_says_so() -> None:
    with pytest.raises(SettingsError, match=r"^\[x\] has no setting 'mu': it has none\.$"):
        validated(Nothing, {"mu": 1}, "[x]")


def test_a_name_in_other_letters_is_near() -> None:
    assert refusal({"CLIENTS": 3}) == "[data] has no setting 'CLIENTS': did you mean 'clients'?"


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 3000])
def test_what_is_beyond_all_measure_is_text(text: str) -> None:
    assert assignments([f"a={text}"]) == {"a": text}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (0, "here number must be greater than or equal to 1 or 'auto', not 0."),
        ("many", "here number must be a whole number or 'auto', not 'many'."),
        ([1], "here number must be a whole number or 'auto', not [1]."),
    ],
)
def test_a_setting_of_two_types_says_both(value: object, sentence: str) -> None:
    @dataclass(frozen=True)
    class Either:
        number: Annotated[int, Field(ge=1)] | Literal["auto"] = 1

    with pytest.raises(SettingsError) as error:
        validated(Either, {"number": value}, "here")
    assert str(error.value) == sentence
