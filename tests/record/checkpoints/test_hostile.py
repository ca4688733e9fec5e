"""Checkpoints and run folders from strangers: resumed, or refused in a sentence."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.record.checkpoints.hostile import (
    CELLS,
    at,
    changed_arrays,
    changed_json,
    changed_table,
    lay,
    newest,
    seal_tables,
)

Stopped = Callable[[str], Path]
Resume = Callable[[Path], str | None]

TABLES = ["rounds.csv", "groups.csv", "ledger.csv", "membership.csv", "timings.csv"]
# What strange numbers lead to on the way is of no interest here.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
runs = pytest.mark.parametrize("run", ["flexcfl", "ifca-mig", "fesem-mig", "flhc", "cfl"])
MANY = 15  # examples of each kind; hundreds find no more, and take minutes


def alone(stopped: Stopped, run: str) -> Path:
    """Return a run with only its newest checkpoint, so that it has to be used."""
    folder = stopped(run)
    (folder / "checkpoints" / "round-0.json").unlink()
    return folder


def examples(check: Callable[[st.DataObject], None]) -> None:
    unhurried = list(HealthCheck)
    settings(max_examples=MANY, suppress_health_check=unhurried)(given(st.data())(check))()


@pytest.mark.slow
@runs
def test_any_json(run: str, stopped_run: Stopped, resume: Resume) -> None:
    body, _ = newest(stopped_run(run))

    def check(data: st.DataObject) -> None:
        folder = alone(stopped_run, run)
        lay(folder, data.draw(changed_json(body)))
        resume(folder)

    examples(check)


@pytest.mark.slow
@runs
def test_any_arrays(run: str, stopped_run: Stopped, resume: Resume) -> None:
    body, arrays = newest(stopped_run(run))

    def check(data: st.DataObject) -> None:
        folder = alone(stopped_run, run)
        lay(folder, body, data.draw(changed_arrays(arrays)))
        resume(folder)

    examples(check)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_any_tables(name: str, stopped_run: Stopped, resume: Resume) -> None:
    def check(data: st.DataObject) -> None:
        folder = alone(stopped_run, "flexcfl")
        body, _ = newest(folder)
        path = folder / name
        path.write_bytes(data.draw(changed_table(path.read_bytes())))
        seal_tables(folder, body)
        lay(folder, body)
        resume(folder)

    examples(check)


@pytest.mark.parametrize("cell", [b"9" * 30, b"nan", b"x"])
def test_strange_figures(cell: bytes, stopped_run: Stopped, resume: Resume) -> None:
    assert cell in CELLS
    folder = alone(stopped_run, "flexcfl")
    body, _ = newest(folder)
    lines = (folder / "rounds.csv").read_bytes().splitlines(keepends=True)
    for column in (5, 13):
        cells = lines[2].rstrip().split(b",")
        cells[column] = cell
        changed = [*lines[:2], b",".join(cells) + b"\n", *lines[3:]]
        (folder / "rounds.csv").write_bytes(b"".join(changed))
        seal_tables(folder, body)
        lay(folder, body)
        resume(folder)
        folder = alone(stopped_run, "flexcfl")


WORLD, ABOUT, STATE = ("content", "world"), ("content", "about"), ("content", "state")
UNFIT: list[tuple[Any, Any]] = [
    ((*WORLD, "world", "number"), -(2**62)),
    ((*WORLD, "world", "number"), 2),
    ((*WORLD, "world", "number"), 2**62),
    ((*WORLD, "world", "share"), "x"),
    (WORLD, None),
    (STATE, None),
    (STATE, []),
    ((*STATE, "models"), -1),
    ((*STATE, "models"), 2),
    ((*ABOUT, "seconds"), float("nan")),
    ((*ABOUT, "seconds"), 10**400),
    ((*ABOUT, "tables", 0, "name"), "../rounds.csv"),
    ((*ABOUT, "tables", 0, "name"), "/etc/passwd"),
    *(((*ABOUT, "tables", 0, "extent", "length"), size) for size in (2**60, 2**80, -5, -1, 0)),
    (("files", 0, "name"), "../arrays-1.safetensors"),
    (("files", 0, "length"), 2**60),
    (("arrays", 0), [0, 10**9]),
    (("arrays", 0), [0, -1]),
    (("round",), 4),
    (("round",), -1),
    (("content",), None),
]


@pytest.mark.parametrize(
    ("way", "value"), UNFIT, ids=[f"{'.'.join(map(str, way))}={str(v)[:9]}" for way, v in UNFIT]
)
def test_what_does_not_fit_is_refused(
    way: tuple[Any, ...], value: Any, stopped_run: Stopped, resume: Resume
) -> None:
    folder = alone(stopped_run, "flexcfl")
    body, _ = newest(folder)
    at(body, way[:-1])[way[-1]] = value
    lay(folder, body)
    sentence = resume(folder)
    assert sentence is not None
    assert "There is no checkpoint" in sentence
    assert "round-3.json' cannot be used" in sentence


@pytest.mark.parametrize("text", ["\n", "\x1b[2J", "\ud800", "x" * 10_000])
@pytest.mark.parametrize("place", ["settings", "own", "versions"])
def test_strange_words_do_not_reach_the_terminal(
    place: str, text: str, stopped_run: Stopped, resume: Resume, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = alone(stopped_run, "flexcfl")
    body, _ = newest(folder)
    pairs = at(body, (*ABOUT, "origin", place))
    pairs[0] = text if place == "own" else [text if place == "settings" else pairs[0][0], text]
    lay(folder, body)
    sentence = resume(folder)
    told = capsys.readouterr().err if sentence is None else sentence
    assert told
    assert text not in told.rstrip("\n")


def test_a_tree_of_clusters_that_leads_in_circles_is_refused(
    stopped_run: Stopped, resume: Resume
) -> None:
    folder = alone(stopped_run, "cfl")
    body, arrays = newest(folder)
    place = at(body, (*STATE, "first_child"))
    arrays[place] = np.ones_like(arrays[place])  # node 1 would be its own child
    lay(folder, body, arrays)
    assert "has a cycle" in (resume(folder) or "")


def test_a_round_of_which_there_cannot_be_so_many_is_refused(
    stopped_run: Stopped, resume: Resume
) -> None:
    folder = alone(stopped_run, "flexcfl")
    body, _ = newest(folder)
    number = body["round"] = at(body, (*WORLD, "world"))["number"] = 9_999_999_999
    lay(folder, body)
    (folder / "checkpoints" / "round-3.json").rename(folder / f"checkpoints/round-{number}.json")
    assert f"does not have the rounds 1 to {number}" in (resume(folder) or "")


@pytest.mark.parametrize(
    "way", [(*STATE, "clustering", "clients"), (*WORLD, "keepsakes", "clients")]
)
def test_rows_of_nothing_are_refused(
    way: tuple[str, ...], stopped_run: Stopped, resume: Resume
) -> None:
    folder = alone(stopped_run, "flexcfl")
    body, arrays = newest(folder)
    arrays[at(body, way)] = np.empty((2**28, 0), dtype=np.int64)
    lay(folder, body, arrays)
    assert "rows of nothing" in (resume(folder) or "")


def test_a_file_that_is_named_many_times_is_not_read_many_times(
    stopped_run: Stopped, resume: Resume
) -> None:
    folder = alone(stopped_run, "flexcfl")
    body, arrays = newest(folder)
    lay(folder, body, [*arrays, np.zeros(2**17)])
    body, _ = newest(folder)
    lay(folder, {**body, "files": body["files"] * 1000})
    assert "it names a file twice" in (resume(folder) or "")


SETTINGS = [
    ("rounds = 6", "rounds = 3"),
    ("rounds = 6", "rounds = 1000000000000000000000"),
    ("cohort = 5", "cohort = 4"),
    ('name = "flexcfl"', 'name = "cfl"'),
    ('name = "mclr"', 'name = "mlp"'),
    ('name = "mclr"', 'name = "os:getcwd"'),
    ("[run]", "[run]\nx = 1"),
    ("[run]", "[[run]]"),
    ("[run]", "\0"),
    ("seed = 0", "seed = " + "[" * 5000),
]


@pytest.mark.parametrize(("old", "new"), SETTINGS, ids=[new[:12] for _, new in SETTINGS])
def test_other_settings_are_refused(
    old: str, new: str, stopped_run: Stopped, resume: Resume
) -> None:
    folder = stopped_run("flexcfl")
    file = folder / "experiment.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    assert resume(folder) is not None
    file.write_bytes(b"\xff\xfe")
    assert resume(folder) is not None


PLACES = [
    *("rounds.csv", "membership.csv", "clients.csv", "founders.csv", "summary.json", ".lock"),
    *("checkpoints", "checkpoints/round-3.json", "checkpoints/arrays-3.safetensors", "models"),
    *("models/group-0.safetensors", "checkpoints/.round-4.json.part", ".summary.json.part"),
    *("checkpoints/.arrays-4.safetensors.part", "models/.group-0.safetensors.part"),
    *("checkpoints/round-0.json", "experiment.toml"),
]


OPENED = [*PLACES[:1], *PLACES[4:6], *PLACES[7:9]]  # a pipe there could block the reader
WAYS = ["link", "link to a folder", "dangling link", "pipe", "folder"]
USUAL = {("link", name) for name in PLACES} | {("pipe", name) for name in OPENED}


@pytest.mark.parametrize(
    ("way", "name"),
    [
        pytest.param(way, name, marks=() if (way, name) in USUAL else pytest.mark.slow)
        for way in WAYS
        for name in PLACES
    ],
)
def test_what_stands_in_the_place_of_a_file_leads_nowhere(
    way: str, name: str, stopped_run: Stopped, resume_in_any_memory: Resume, tmp_path: Path
) -> None:
    """Nothing outside is written, whatever happens to the run, and nothing waits for a pipe."""
    folder, outside = stopped_run("flexcfl"), tmp_path / "outside"
    outside.mkdir()
    kept, place = outside / "kept", folder / name
    place.parent.mkdir(exist_ok=True)
    kept.write_bytes(place.read_bytes() if place.is_file() else b"mine")
    if place.is_dir():
        place.rename(folder / "away")
    place.unlink(missing_ok=True)
    before = kept.read_bytes(), kept.stat().st_mtime_ns, kept.stat().st_mode
    put: dict[str, Callable[[], None]] = {
        "link": lambda: place.symlink_to(kept),
        "link to a folder": lambda: place.symlink_to(outside),
        "dangling link": lambda: place.symlink_to(outside / "new"),
        "pipe": lambda: os.mkfifo(place),
        "folder": place.mkdir,
    }
    put[way]()
    resume_in_any_memory(folder)
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert (kept.read_bytes(), kept.stat().st_mtime_ns, kept.stat().st_mode) == before


def test_the_folder_of_another_run_is_no_way_out(
    stopped_run: Stopped, resume: Resume, tmp_path: Path
) -> None:
    """Checkpoints that are linked to from elsewhere are neither read nor removed."""
    folder = stopped_run("flexcfl")
    (folder / "checkpoints").rename(tmp_path / "others")
    (folder / "checkpoints").symlink_to(tmp_path / "others")
    before = sorted(
        (each.name, each.stat().st_mtime_ns) for each in (tmp_path / "others").iterdir()
    )
    assert "There is no checkpoint" in (resume(folder) or "")
    after = sorted((each.name, each.stat().st_mtime_ns) for each in (tmp_path / "others").iterdir())
    assert before == after
