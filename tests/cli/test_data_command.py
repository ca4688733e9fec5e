import dataclasses
import gzip
import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from flexcfl.cli import main
from flexcfl.cli.data import app
from flexcfl.data import DATASETS, Dataset
from flexcfl.data.files import SOURCES, Source
from flexcfl.errors import FlexcflError


@pytest.fixture(autouse=True)
def a_plain_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep this machine's files out of the tests."""
    monkeypatch.delenv("FLEXCFL_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache" / project)


def output(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refusal(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert isinstance(result.exception, FlexcflError)
    return str(result.exception)


def put_files(folder: Path, name: str) -> Path:
    """Write empty files: enough to be found."""
    place = folder / SOURCES[name].folder
    place.mkdir(parents=True)
    for file in SOURCES[name].sha256:
        (place / file).write_bytes(b"")
    return place


def test_list_says_what_is_there_and_what_is_not(
    tmp_path: Path, terminal: Callable[[int], None]
) -> None:
    place = put_files(tmp_path / "[bold]", "mnist")
    shown = output("list", "--data", tmp_path / "[bold]")
    for dataset in DATASETS.values():
        assert dataset.name in shown
        assert dataset.what in shown
    assert f"in {place}" in shown
    assert "missing: flexcfl data fetch femnist" in shown
    assert "missing: flexcfl data fetch mnist" not in shown
    assert "1,000" in shown
    for width in (40, 90):
        terminal(width)
        assert str(place) in output("list", "--data", tmp_path / "[bold]")


def test_inspect_shows_sizes_classes_and_the_label_skew() -> None:
    shown = output("inspect", "digits")
    assert "digits: 100 clients, 1,797 examples of 1 x 8 x 8 numbers, 10 classes" in shown
    assert "partition=classes, seed=0, clients=100, classes_per_client=2" in shown
    assert "Each of the 1,797 examples belongs to exactly one client." in shown
    rows = [line for line in shown.splitlines() if line.startswith("class  ")]
    assert len(rows) == 10
    assert all(set(row[11:]) <= set("·░▒▓█") for row in rows)
    # Two classes a client: two cells of every column are filled.
    columns = zip(*(row[11:] for row in rows), strict=True)
    assert {sum(cell != "·" for cell in column) for column in columns} == {2}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["clusters=3"], "3 clusters of 30 clients each."),
        (["clusters=7"], "7 clusters of 12 to 13 clients each."),
        (["clusters=1", "clients=1"], "1 cluster of 1 client."),
    ],
)
def test_inspect_tells_a_structure_that_is_known(settings: list[str], sentence: str) -> None:
    words = [word for setting in settings for word in ("--set", setting)]
    assert f"The true structure is known: {sentence}" in output("inspect", "clusters", *words)
    assert "structure" not in output("inspect", "digits")


def test_inspect_takes_settings() -> None:
    shown = output("inspect", "digits", "--set", "partition=iid", "--set", "clients=20")
    assert "digits: 20 clients" in shown
    assert "All clients as columns" in shown


def test_inspect_tells_what_the_published_partitions_leave_and_repeat(tmp_path: Path) -> None:
    place = tmp_path / "emnist"
    place.mkdir()
    labels = (np.arange(6200) % 62).astype(np.uint8)
    for name, array in (
        ("emnist-byclass-test-images-idx3-ubyte", np.zeros((6200, 28, 28), dtype=np.uint8)),
        ("emnist-byclass-test-labels-idx1-ubyte", labels),
    ):
        sizes = np.array(array.shape, dtype=">u4").tobytes()
        content = bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()
        (place / f"{name}.gz").write_bytes(gzip.compress(content, 1))
    shown = output("inspect", "femnist", "--data", tmp_path)
    assert "18,345 examples" in shown
    assert "Of 1,000 examples, 0 belong to no client and 1,000 are used more than once." in shown


def test_inspect_needs_no_colours_and_has_none_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = output("inspect", "digits")
    assert "\x1b" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in output("inspect", "digits")
    monkeypatch.setenv("NO_COLOR", "1")
    uncoloured = output("inspect", "digits")
    assert "\x1b[3" not in uncoloured


@pytest.mark.parametrize("width", [20, 40, 60, 80, 160, 200])
def test_inspect_is_as_wide_as_there_is_room(terminal: Callable[[int], None], width: int) -> None:
    terminal(width)
    for clients in (3, 7, 100, 300):
        words = ("--set", "partition=iid", "--set", f"clients={clients}")
        lines = plain_lines(output("inspect", "digits", *words))
        assert max(map(cell_len, lines)) <= width
        assert {cell_len(line) for line in lines if re.match(r"class +\d", line)} == {width}


def test_inspect_tells_clients_apart_whose_labels_are_alike() -> None:
    known = r"^distance +([\d.]+) .* ([\d.]+)\ndistance by class +([\d.]+) .* ([\d.]+)$"
    for arguments, moved, by_class in (
        (["digits"], True, False),
        (["digits", "--set", "partition=iid"], False, False),
        (["clusters"], False, True),
    ):
        found = re.search(known, output("inspect", *arguments), re.MULTILINE)
        assert found
        assert (float(found[2]) > 1.2, float(found[4]) > 1.2) == (moved, by_class)


def plain_lines(shown: str) -> list[str]:
    return re.sub(r"\x1b\[\d*m", "", shown).splitlines()


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z]+", text))


@pytest.mark.parametrize("command", [("list",), ("inspect", "digits")])
def test_narrow_terminals_break_no_words(
    terminal: Callable[[int], None], command: tuple[str, ...]
) -> None:
    wide = output(*command)
    terminal(40)
    narrow = "\n".join(plain_lines(output(*command)))
    assert max(map(len, narrow.splitlines())) <= 40
    assert words(narrow) <= words(wide) | {"to"}
    numbers = set(re.findall(r"[0-9][0-9,.]*", narrow))
    assert {"1,442", "14.4"} <= numbers or command == ("list",)


@pytest.mark.parametrize("command", [("list",), ("inspect", "digits")])
def test_a_pipe_has_whole_lines_without_spaces_at_their_ends(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    place = put_files(tmp_path / ("long " * 30), "mnist")
    lines = output(*command, "--data", place.parent).splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert any(f"in {place}" in line for line in lines) or command != ("list",)
    assert len([line for line in lines if line.startswith("with partition=")]) == len(command) - 1


def test_inspect_can_do_with_ascii() -> None:
    result = CliRunner(charset="ascii").invoke(app, ["inspect", "digits"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stdout.isascii()
    assert "##" in result.stdout or "**" in result.stdout


def test_inspect_saves_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output("inspect", "digits", "--svg", tmp_path / "skew.svg")
    picture = (tmp_path / "skew.svg").read_text("utf-8")
    assert picture.startswith("<svg")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    output("inspect", "digits", "--svg", tmp_path / "plain.svg")
    plain = (tmp_path / "plain.svg").read_text("utf-8")
    colours = set(re.findall(r"fill: (#\w+)", picture))
    assert set(re.findall(r"fill: (#\w+)", plain)) == colours
    assert len(colours) >= 4
    assert "▓" in picture
    assert "flexcfl data inspect digits" in picture.replace("&#160;", " ")
    assert "cannot be written" in refusal("inspect", "digits", "--svg", tmp_path / "no" / "x.svg")


def test_inspect_reads_leaf_files(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
        text = '{"users": ["a"], "user_data": {"a": {"x": [[1, 2]], "y": [1]}}}'
        (tmp_path / part / "all.json").write_text(text, "utf-8")
    shown = output("inspect", "leaf", "--set", f"folder={tmp_path}")
    assert "leaf: 1 client, 2 examples of 2 numbers, 2 classes" in shown
    assert "(of 2 classes the 1 that any client has)" in shown
    assert "class   0" not in shown
    assert output("inspect", "leaf", "--set", f"data.folder={tmp_path}") == shown
    shaped = ("--set", f"folder={tmp_path}", "--set", "shape=[1,2,1]")
    assert "2 examples of 1 x 2 x 1 numbers" in output("inspect", "leaf", *shaped)


@pytest.mark.filterwarnings("default")
def test_a_warning_of_data_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "ann.npz", x=np.ones((30, 2)), y=np.arange(30))
    assert main(["data", "inspect", "npz", "--set", f"folder={tmp_path}"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("Warning: 'npz' has labels up to 29 on 30 examples, which makes 30 cl")
    assert told.count("\n") == 1


def test_inspect_reads_a_folder_of_npz_files(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        np.savez(tmp_path / f"{name}.npz", x=np.ones((10, 2)), y=np.arange(10) % 2)
    shown = output("inspect", "npz", "--set", f"data.folder={tmp_path}")
    assert "npz: 2 clients, 20 examples of 2 numbers, 2 classes" in shown
    assert "test_share=0.2, seed=0" in " ".join(shown.split())  # wherever the path breaks the line
    assert re.search(r"training examples +8 +8 +8.0 +8 +16", shown)
    half = ("--set", f"folder={tmp_path}", "--set", "test_share=0.5")
    assert re.search(r"training examples +5 +5 +5.0 +5 +10", output("inspect", "npz", *half))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["inspect", "digist"], "There is no dataset 'digist': did you mean 'digits'?"),
        (["fetch", "minst"], "There is no dataset 'minst': did you mean 'mnist'?"),
        (["inspect", "digits", "--set", "clinets=5"], "digits has no setting 'clinets'"),
        (["inspect", "digits", "--set", "clients"], "'clients' is not of the form KEY=VALUE"),
        (["inspect", "digits", "--set", "clients=-5"], "digits clients must be greater than"),
        (["inspect", "leaf"], "leaf folder must be given: name the folder that holds"),
        (["inspect", "npz"], "npz folder must be given: name the folder that holds"),
        (["inspect", "npz", "--set", "folder=no"], "There is no folder 'no': name one with an"),
        (["inspect", "mnist"], "'mnist' lacks train-images-idx3-ubyte"),
        (["list", "--data", "nowhere"], "The data folder 'nowhere' is not a folder"),
    ],
)
def test_mistakes_are_sentences(arguments: list[str], sentence: str) -> None:
    assert refusal(*arguments).startswith(sentence)


@pytest.mark.parametrize("name", ["digits", "synthetic", "clusters", "leaf", "npz"])
def test_what_needs_no_files_has_nothing_to_fetch(name: str) -> None:
    assert f"There is nothing to fetch for '{name}'" in output("fetch", name)


@pytest.fixture
def mirror(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, Dataset[object]]]:
    """Put a dataset of one small file, and a mirror of it, in the place of the real ones."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    served = tmp_path / "served"
    served.mkdir()
    handler = partial(Quiet, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        source = Source("tiny", {"file": hashlib.sha256(b"content").hexdigest()}, (address,))
        dataset = dataclasses.replace(DATASETS["mnist"], name="tiny", source=source)
        monkeypatch.setattr("flexcfl.data.datasets.DATASETS", {"tiny": dataset})
        yield served, dataset
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


def test_fetch_brings_files_once_and_shows_how_far_it_is(
    mirror: tuple[Path, Dataset[object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mirror[0] / "file.gz").write_bytes(gzip.compress(b"content"))
    shown = output("fetch", "tiny", "--data", tmp_path / "data")
    assert shown == f"Fetched 1 of 1 files into '{tmp_path / 'data' / 'tiny'}'.\n"
    again = output("fetch", "tiny", "--data", tmp_path / "data")
    assert again == f"All files are there already, in '{tmp_path / 'data' / 'tiny'}'.\n"
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    arguments = ["fetch", "tiny", "--data", str(tmp_path / "other")]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert "file.gz" in result.stderr
    assert result.stdout == f"Fetched 1 of 1 files into '{tmp_path / 'other' / 'tiny'}'.\n"


def test_fetch_leaves_alone_what_is_complete_where_files_are_looked_for(
    mirror: tuple[Path, Dataset[object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mirror[0] / "file.gz").write_bytes(gzip.compress(b"content"))
    place = tmp_path / "variable" / "tiny"
    place.mkdir(parents=True)
    (place / "file").write_bytes(b"content")
    monkeypatch.setenv("FLEXCFL_DATA", str(place.parent))
    assert output("fetch", "tiny") == f"All files are there already, in '{place}'.\n"
    assert not (tmp_path / "cache").exists()
    assert output("fetch", "tiny", "--data", tmp_path / "data").startswith("Fetched 1 of 1")
    (place / "file").write_bytes(b"damaged")
    assert output("fetch", "tiny").startswith("Fetched 1 of 1")


def test_fetch_goes_to_the_cache_by_default(
    mirror: tuple[Path, Dataset[object]], tmp_path: Path
) -> None:
    (mirror[0] / "file.gz").write_bytes(gzip.compress(b"content"))
    output("fetch", "tiny")
    assert (tmp_path / "cache" / "flexcfl" / "tiny" / "file.gz").is_file()


def test_fetch_says_why_it_fails(mirror: tuple[Path, Dataset[object]], tmp_path: Path) -> None:
    assert "answers 404" in refusal("fetch", "tiny", "--data", tmp_path / "data")
    (tmp_path / "file").write_bytes(b"")
    assert refusal("fetch", "tiny", "--data", tmp_path / "file").startswith(
        f"'{tmp_path / 'file' / 'tiny'}' cannot be written"
    )


@pytest.mark.parametrize("command", ["list", "fetch", "inspect"])
def test_every_command_has_help_that_ends_with_an_example(command: str) -> None:
    shown = output(command, "--help")
    assert "--data" in shown
    assert f"Example: flexcfl data {command}" in shown.strip().splitlines()[-1]
