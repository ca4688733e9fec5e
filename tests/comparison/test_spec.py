"""What a comparison was asked for: written down, read back, compared."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.comparison.spec import FILE, ComparisonSpec
from flexcfl.errors import SettingsError
from flexcfl.experiment.layers import options_layer
from tests.comparison.here import federation


def ask(*names: str, seeds: int = 2, **assigned: Any) -> ComparisonSpec:
    dotted = {key.replace("__", "."): value for key, value in assigned.items()}
    return ComparisonSpec.of(names, seeds, options_layer({}, dotted))


def read(folder: Path, asked: ComparisonSpec) -> ComparisonSpec:
    (folder / FILE).write_bytes(asked.to_toml())
    return ComparisonSpec.read(folder)


@pytest.mark.parametrize(
    ("names", "assigned"),
    [
        ("fedavg ifca flexcfl", {}),
        ("fedavg flexcfl", {"algorithm__groups": "auto", "local__rate": 1e-3, "drift": "mmd"}),
        ("fedavg fedprox", {"local": {"prox": 0.1, "steps": 3}, "shift": ("swap-all", "rotation")}),
        ("cfl", {"data__arrivals": ({"round": 5, "share": 0.2},), "run__evaluate_clients": None}),
        ("flhc", {"data__name": "leaf", "data__folder": "there", "data__shape": (1, 2, 2)}),
        ("ifca", {"run__rounds": np.int64(3), "local__rate": np.float32(0.5)}),
        ("ifca", {"model__name": 'a "quoted"\nname:x', "run__data": Path("x")}),
    ],
)
def test_from_what_is_written_down_the_same_runs_come_again(
    names: str, assigned: dict[str, Any], tmp_path: Path
) -> None:
    asked = ask(*names.split(), **assigned)
    again = read(tmp_path, asked)
    assert again == asked
    assert again.runs() == asked.runs()
    assert again.difference(asked, None) is None


def test_paths_hold_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assigned: dict[str, Any] = {"run__data": "files", "data__name": "leaf", "data__folder": "there"}
    asked = read(tmp_path, ask("fedavg", **assigned))
    monkeypatch.chdir("/")
    experiment = asked.runs()[0].experiment
    assert experiment.run.data == tmp_path / "files"
    assert experiment.data.options.folder == tmp_path / "there"
    moved = asked.with_data_in(tmp_path / "elsewhere")
    assert moved.runs()[0].experiment.run.data == tmp_path / "elsewhere"
    assert asked.difference(moved, None) is None


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (ask("fedavg"), "of fedavg, ifca"),
        (ask("ifca", "fedavg"), "of fedavg, ifca"),
        (ask("fedavg", "ifca", seeds=3), "of 2 seeds"),
        (ask("fedavg", "ifca", run__rounds=7), "where [run] rounds is not the same"),
        (ask("fedavg", "ifca", algorithm__groups=7), "where [algorithm] groups is not the same"),
        (ask("fedavg", "ifca", shift="none"), "where [shift] name is not the same"),
    ],
)
def test_it_is_said_what_is_otherwise(other: ComparisonSpec, words: str) -> None:
    assert ask("fedavg", "ifca").difference(other, None) == words


def test_what_was_said_in_other_words_is_the_same() -> None:
    rate = ask("fedavg").runs()[0].experiment.local.rate
    assert ask("fedavg").difference(ask("fedavg", local__rate=rate), None) is None


def test_data_of_ones_own_are_known_again(tmp_path: Path) -> None:
    said = options_layer({"dataset": "mine"}, {})
    asked, other = (
        ComparisonSpec.of(["fedavg"], 1, said, each) for each in (federation(), federation(1))
    )
    again = read(tmp_path, asked)
    assert again == asked
    assert again.difference(asked, federation()) is None
    assert again.difference(other, federation()) == "of other data"
    assert b"flexcfl.compare" in asked.to_toml()
    with pytest.raises(SettingsError, match=r"resume it there with flexcfl\.compare and the same"):
        again.runs()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "needs the setting 'algorithms'"),
        ("algorithms = [", "is not TOML"),
        ("algorithms = 3\nseeds = 1", "algorithms must be a list, not 3"),
        ('algorithms = ["fedavg"]\nseeds = true', "seeds must not be true"),
        ('algorithms = ["fedavg"]\nseeds = 1\nsettings = 2', "settings must be a table, not 2"),
        ('algorithms = ["fedavg"]\nseeds = 1\nrun = 2', "has no setting 'run'"),
        ('algorithms = ["../x"]\nseeds = 1', "There is no algorithm '../x'"),
        ('algorithms = ["fedavg"]\nseeds = 0', "seeds must be a whole number from 1"),
        ('algorithms = ["fedavg"]\nseeds = 1\n[settings.runs]\n', "There is no table 'runs'"),
        ('algorithms = ["fedavg"]\nseeds = 1\nown_data = 5', "own_data must be a table"),
    ],
)
def test_a_file_that_makes_no_sense_is_told_in_a_sentence(
    content: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(SettingsError) as caught:
        ComparisonSpec.read(tmp_path).runs()
    assert sentence in str(caught.value)


@settings(deadline=None)
@given(st.integers(min_value=0), st.binary(max_size=6) | st.sampled_from([b"[]", b"{}", b"-1"]))
def test_no_damage_of_the_file_leads_to_another_error(
    tmp_path_factory: pytest.TempPathFactory, place: int, patch: bytes
) -> None:
    whole = ask("fedavg", "flexcfl", local__rate=0.5, shift="swap-all", drift="mmd").to_toml()
    place %= len(whole)
    path = tmp_path_factory.getbasetemp()
    (path / FILE).write_bytes(whole[:place] + patch + whole[place + len(patch) :])
    with suppress(SettingsError):
        assert ComparisonSpec.read(path).runs()


def test_what_cannot_be_written_down_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"^b'cnn' cannot be written to comparison.toml"):
        ask("fedavg", model__name=b"cnn")
