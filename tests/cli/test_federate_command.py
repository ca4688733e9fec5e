"""``flexcfl federate``: mistakes are told before anything is started."""

import socket
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from flexcfl.flower.local import federation
from tests.cli.refusals import told

pytest.importorskip("flwr")
pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture(autouse=True)
def _nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: federation.LocalFederation) -> None:
        raise AssertionError("a mistake, and processes are started")

    monkeypatch.setattr(federation.LocalFederation, "__enter__", start)


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    return told(capsys, "federate", *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--dataset", "digit"], "did you mean 'digits'"),
        (["--set", "run.round=3"], "did you mean 'rounds'"),
        (["--nodes", "0"], "[network] nodes must be greater than or equal to 1"),
        (["--nodes", "9", "--set", "data.clients=8", "--cohort", "2"], "lower --nodes"),
        (["--cohort", "500"], "A cohort of 500 is larger than"),
        (["--model", "cnm"], "cnm"),
        (["--port", "99999"], "There is no port 99999"),
        (["nowhere.toml"], "'nowhere.toml' cannot be read"),
        (["--dataset", "mnist", "--data", "nowhere"], "nowhere"),
    ],
)
def test_a_mistake_is_told_as_by_run(
    words: list[str], sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in refusal(capsys, *words)
    assert not list(here.iterdir())


def test_nodes_with_files_of_their_own_are_for_others_to_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["network.clients=4", "network.shape=[64]", "network.classes=10"]
    options = [part for word in words for part in ("--set", word)]
    assert "leave clients, shape and classes out" in refusal(capsys, *options)


def test_a_taken_port_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"cannot have port {port}" in refusal(capsys, "--port", str(port))


def test_a_taken_folder_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "file").touch()
    assert "'mine' exists already" in refusal(capsys, "--out", "mine")


def test_without_flower_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("flexcfl.flower.local.federate.version", missing)
    assert "pip install 'flexcfl[flower]'" in refusal(capsys)


def test_folders_of_ones_own_are_left_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("logs", "nodes"):
        (here / "mine" / name).mkdir(parents=True)
        (here / "mine" / name / "precious").touch()
    assert "'mine' exists already" in refusal(capsys, "--out", "mine")
    assert len(list((here / "mine").rglob("precious"))) == 2


@pytest.mark.parametrize("port", ["0", "65536"])
def test_a_port_that_there_is_not_is_told(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"There is no port {port}: choose one from 1 to 65535" in refusal(capsys, "--port", port)
