"""Experiments in TOML and ``--set`` words from strangers, all the way to an experiment."""

import datetime
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import DATASETS
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import RunSettings
from flexcfl.protocol import Local
from flexcfl.settings import assignments
from flexcfl.shifts import SHIFTS
from flexcfl.shifts.detection import DETECTORS
from fuzz.harness import alarmed
from fuzz.strategies import STRANGE_NAMES, mutated
from fuzz.targets import TOML, WORDS

Judge: TypeAlias = Callable[..., str | None]
Refused: TypeAlias = Callable[[str, bytes], str]


def keys(*types: Any) -> st.SearchStrategy[str]:
    return st.sampled_from(
        ["name", *sorted({item.name for each in types for item in fields(each)})]
    )


KEYS = {
    "data": keys(*(each.options for each in DATASETS.values())) | st.just("arrivals"),
    "model": keys(),
    "algorithm": keys(*(each.options for each in ALGORITHMS.values())),
    "local": keys(Local),
    "shift": keys(*(each.shift for each in SHIFTS.values())),
    "drift": keys(*(each.detector for each in DETECTORS.values())),
    "run": keys(RunSettings),
}
NAMES = st.sampled_from([*DATASETS, *ALGORITHMS, *SHIFTS, *DETECTORS, "mclr", "a:b", "none"])
TEXTS = (
    NAMES
    | st.sampled_from([name for name in STRANGE_NAMES if name != "\ud800"])
    | st.text(st.characters(codec="utf-8"), max_size=5)
)
PLAIN = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([0, 1, 2, 5, 0.5, 1e-300, 2**63, 10**400])
    | st.floats()
    | TEXTS
    | st.datetimes(timezones=st.just(datetime.UTC) | st.none())
    | st.dates()
    | st.times()
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["round", "share", "name"]) | TEXTS, inner, max_size=3)
    ),
    max_leaves=5,
)


def table(name: str) -> st.SearchStrategy[Any]:
    known = st.dictionaries(KEYS[name], VALUES, max_size=3)
    strange = st.dictionaries(KEYS[name] | TEXTS, VALUES, max_size=2)
    named = st.builds(lambda keys, value: {**keys, "name": value}, known, NAMES)
    return known | named | strange | VALUES


TABLES = st.fixed_dictionaries({}, optional={name: table(name) for name in KEYS})


@settings(max_examples=50)
@given(mutated(TOML))
def test_mutated_files(judge: Judge, content: bytes) -> None:
    judge("toml", content)


@settings(max_examples=30)
@given(TABLES)
def test_every_type_in_every_place(judge: Judge, tables: dict[str, Any]) -> None:
    judge("toml", tomli_w.dumps(tables).encode())


@settings(max_examples=50)
@given(mutated(WORDS))
def test_mutated_words(judge: Judge, content: bytes) -> None:
    judge("words", content)


@settings(max_examples=50)
@given(st.sampled_from(sorted(KEYS)), st.data())
def test_every_type_in_every_word(judge: Judge, name: str, data: st.DataObject) -> None:
    key, value = data.draw(KEYS[name] | TEXTS), data.draw(VALUES)
    text = tomli_w.dumps({"value": value}).partition("=")[2].strip()
    judge("words", f"{name}.{key}={text}".encode())


@pytest.mark.slow
@settings(max_examples=500)
@given(TABLES)
def test_many_tables(judge: Judge, tables: dict[str, Any]) -> None:
    judge("toml", tomli_w.dumps(tables).encode())


@pytest.mark.slow
@settings(max_examples=500)
@given(mutated(TOML))
def test_many_mutated_files(judge: Judge, content: bytes) -> None:
    judge("toml", content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (f"[data]\nname = 0x{'f' * 5000}", "a whole number of more than 64 bits"),
        ("[run]\nseed = 18446744073709551616", "a whole number of more than 64 bits"),
        ("[run]\nseed = " + "9" * 5000, "is not TOML"),
        ("data.name" + ".a" * 150 + " = 1", "more than 32 deep within each other"),
        ("a = " + "[" * 50 + "]" * 50, "more than 32 deep within each other"),
        ("a = " + "[" * 5000, "is not TOML"),
        ("a." * 30_000 + "a = 1", "Line 1 of the experiment"),
        ("[run]\n[" + "a . " * 10_000 + "a]", "Line 2 of the experiment"),
        ("#" * 2**16 + "\n", "is longer than 65536 bytes"),
        ("[[run]]\nseed = 1", "'run' does not say which table it belongs to"),
        ("[run]\nseed = nan", "[run] seed must be a finite number"),
        ("[local]\nrate = inf", "[local] rate must be"),
        ("[run]\nseed = 1979-05-27", "[run] seed must be a whole number"),
        ('[run]\n"a\\nb" = 1', r"[run] has no setting 'a\nb'"),
    ],
)
def test_what_is_beyond_all_measure_is_refused(
    refused: Refused, content: str, problem: str
) -> None:
    assert problem in refused("toml", content.encode())


@pytest.mark.parametrize(
    ("target", "content"),
    [
        ("toml", b'[data]\nname = "two\\nlines"'),
        ("toml", b'"two\\nlines" = 1'),
        ("toml", b'["two\\nlines"]'),
        ("words", b"two\nlines=1"),
    ],
)
def test_names_of_several_lines_are_shown_on_one(judge: Judge, target: str, content: bytes) -> None:
    judge(target, content)


def test_the_worst_of_small_files_is_read_in_time(tmp_path: Path) -> None:
    """Names of many parts, which the parser walks over; one of as many as fit takes above 10 s."""
    path = tmp_path / "worst.toml"
    deep = "a." * (toml.MOST_DOTS - 1) + "a"
    text = "".join(f"[x{number}.{deep}]\n{deep} = 1\n" for number in range(1000))
    path.write_text(text[: text.rindex("[", 0, toml.MOST_BYTES)])
    with alarmed(), pytest.raises(SettingsError, match="more than 32 deep"):
        toml.read(path)


def test_an_experiment_that_never_ends_is_not_read_to_its_end(tmp_path: Path) -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("This system has no /dev/zero.")
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    with alarmed(), pytest.raises(SettingsError, match="is longer than"):
        toml.read(tmp_path / "endless.toml")


@pytest.mark.parametrize("name", ["no\0name", "x" * 300])
def test_an_experiment_of_an_impossible_name_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        toml.read(tmp_path / name)


def test_values_of_words_beyond_all_measure_are_plain_text() -> None:
    for text in ("0x" + "f" * 5000, "[" * 40 + "]" * 40, str(2**64)):
        assert assignments([f"a={text}"]) == {"a": text}
