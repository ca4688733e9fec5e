"""``flexcfl run``: what a person types, sees and finds."""

import gzip
import json
import re
import signal
import struct
from pathlib import Path
from typing import Any

import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.cli import main
from flexcfl.protocol import Executor
from flexcfl.record.folder import RunFolder
from flexcfl.simulation import Simulation
from tests.cli.processes import started
from tests.cli.refusals import told
from tests.waiting import PATIENCE

SHORT = ["--rounds", "2", "--cohort", "2", "--epochs", "1", "--set", "data.clients=10"]
TRAIN, TEST = "train", "t10k"


pytestmark = pytest.mark.usefixtures("here")


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    return told(capsys, "run", *words)


def test_a_run_shows_its_settings_its_rounds_its_results_and_leaves_a_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *SHORT]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^data +digits, .*clients 10 \(given\)", shown, re.M)
    assert re.search(r"^local +epochs 1 \(given\), batch 10, rate 0\.1, ", shown, re.M)
    assert re.search(r"^training, 2 rounds$", shown, re.M)
    assert re.search(r"^round 1/2  accuracy \d+\.\d%  loss \d", shown, re.M)
    assert re.search(r"^round 2/2  accuracy", shown, re.M)
    final = r"final \d+\.\d% \(the mean of the last ten rounds\), median \d+\.\d%"
    assert re.search(rf"^accuracy +best \d+\.\d%, {final}$", shown, re.M)
    assert re.search(r"^folder +runs/flexcfl-digits-mclr-seed0-1 *$", shown, re.M)
    folder = here / "runs" / "flexcfl-digits-mclr-seed0-1"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        *("experiment.toml", "rounds.csv", "groups.csv", "timings.csv", "summary.json"),
        *("clients.csv", "founders.csv", "ledger.csv", "membership.csv"),
        "labels.csv",
        *(f"models/group-{group}.safetensors" for group in range(5)),
        "models/auxiliary.safetensors",
        *("newcomer/round-2.json", "newcomer/arrays-2.safetensors"),
    }


def test_quiet_is_quiet(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--quiet", "--out", "mine", *SHORT]) == 0
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    assert (here / "mine" / "summary.json").exists()


def test_running_a_runs_own_settings_again_gives_the_same_rounds(here: Path) -> None:
    assert main(["run", "-q", "--out", "one", "--algorithm", "fedprox", *SHORT]) == 0
    assert main(["run", "-q", "--out", "two", "one/experiment.toml"]) == 0
    for name in ("rounds.csv", "experiment.toml"):
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes()


CLUSTERED = ["--dataset", "clusters", "--rounds", "5", "--epochs", "1", "--cohort", "20"]
ARRIVALS = "data.arrivals=[{round=3,share=0.2}]"


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_runs_with_arrivals_and_again_from_its_own_settings(
    algorithm: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--algorithm", algorithm, *CLUSTERED, "--set", ARRIVALS]
    assert main(["run", "--out", "one", *words]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"arrivals \[\{round=3,share=0\.2\}\] \(given\)", shown)
    assert re.search(r"^newcomers +best \d+\.\d%", shown, re.M)
    assert main(["run", "-q", "--out", "two", "one/experiment.toml"]) == 0
    one, two = here / "one", here / "two"
    written = {str(path.relative_to(one)) for path in one.rglob("*") if path.is_file()}
    assert {"groups.csv", "clients.csv", "models/group-0.safetensors"} < written
    for name in written - {"timings.csv", "summary.json"}:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_what_flexcfl_finds_is_shown_and_left(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--algorithm", "flexcfl", "--out", "mine", *CLUSTERED]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^round 1/5  placed \d+/90  loss", shown, re.M)
    sizes = "groups +3 of 30, 30 and 30 clients"
    assert re.search(rf"^{sizes}, adjusted Rand index 1\.000, silhouette of", shown, re.M)
    assert re.search(r"^auxiliary +best", shown, re.M)
    assert "newcomers " not in shown
    for name in ("founders.csv", "models/auxiliary.safetensors", "models/group-2.safetensors"):
        assert (here / "mine" / name).exists()
    summary = json.loads((here / "mine" / "summary.json").read_text())
    assert summary["clustering"]["founders"] == 30
    assert summary["adjusted_rand_index"] == 1


@pytest.mark.parametrize(("groups", "written"), [("2", "groups = 2"), ("auto", 'groups = "auto"')])
def test_groups_are_a_number_or_left_to_the_algorithm(
    groups: str, written: str, here: Path
) -> None:
    words = ["--algorithm", "flexcfl", "--groups", groups, *CLUSTERED]
    assert main(["run", "-q", "--out", "mine", *words]) == 0
    assert written in (here / "mine" / "experiment.toml").read_text()


def test_options_override_the_file_and_set_overrides_all(here: Path) -> None:
    (here / "my.toml").write_text("[local]\nrate = 0.5\nbatch = 4\n[run]\nrounds = 9\nseed = 4\n")
    words = ["my.toml", "-q", "--out", "mine", *SHORT, "--seed", "5", "--set", "run.seed=6"]
    assert main(["run", *words]) == 0
    written = (here / "mine" / "experiment.toml").read_text()
    for line in ("rate = 0.5", "batch = 4", "rounds = 2", "seed = 6"):
        assert re.search(rf"^{re.escape(line)}$", written, re.M)


def test_a_source_is_named_beside_what_it_gave(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "my.toml").write_text("[local]\nrate = 0.5\n")
    assert main(["run", "my.toml", *SHORT]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("file my.toml data digits,")
    assert "rate 0.5 (file)" in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--dataset minst", "There is no dataset 'minst': did you mean 'mnist'?"),
        ("--model mcrl", "There is no model 'mcrl': did you mean 'mclr'?"),
        ("--algorithm fedpro", "There is no algorithm 'fedpro': did you mean 'fedprox'?"),
        ("--round 5", "--rounds"),
        ("--rounds many", "'many' is not a valid int"),
        ("--rounds 0", "[run] rounds must be greater than or equal to 1, not 0."),
        ("--rounds -1", "[run] rounds must be greater than or equal to 1, not -1."),
        ("--cohort 0", "[run] cohort must be greater than or equal to 1, not 0."),
        ("--cohort 101", "A cohort of 101 is larger than the federation 'digits', which has 100"),
        ("--rate 0", "[local] rate must be greater than 0, not 0.0."),
        ("--rate -0.1", "[local] rate must be greater than 0, not -0.1."),
        ("--rate nan", "[local] rate must be a finite number, not nan."),
        ("--rate inf", "[local] rate must be a finite number, not inf."),
        ("--epochs 0", "[local] epochs must be greater than or equal to 1, not 0."),
        ("--batch 0", "[local] batch must be greater than or equal to 1, not 0."),
        ("--seed -1", "[run] seed must be greater than or equal to 0, not -1."),
        (
            "--groups 3 --algorithm fedavg",
            "'fedavg' trains one model for everybody and has no groups",
        ),
        (
            "--groups auto --algorithm fedavg",
            "'fedavg' trains one model for everybody and has no groups",
        ),
        ("--groups auto --algorithm ifca", "[algorithm] groups must be a whole number, not 'auto'"),
        ("--groups many --algorithm ifca", "[algorithm] groups must be a whole number, not 'many'"),
        (
            "--groups 0 --algorithm ifca",
            "[algorithm] groups must be greater than or equal to 1, no",
        ),
        (
            "--groups many --algorithm flexcfl",
            "groups must be a whole number or 'auto', not 'many'",
        ),
        ("--groups 101 --algorithm flexcfl", "lower the number of groups (--groups)"),
        ("--algorithm flexcfl --set algorithm.eta_g=-1", "[algorithm] eta_g must be greater than"),
        ("--algorithm flexcfl --set algorithm.measure=l2", "[algorithm] measure must be 'edc' or"),
        ("--set data.arrivals=5", "[data] arrivals must be a list such as [{round = 100, share"),
        ("--set data.arrivals=[{round=5}]", "[data] arrivals[0] needs the setting 'share'"),
        (
            "--cohort 20 --set data.arrivals=[{round=5,share=0.9}]",
            "A cohort of 20 is larger than the 10 of 100",
        ),
        (
            "--set data.arrivals=[{round=500,share=0.1}]",
            "appear in round 500, and the run ends aft",
        ),
        ("--set arrivals=[]", "such as data.arrivals."),
        ("--device warp", "no device 'warp'"),
        ("--set local.rte=1", "[local] has no setting 'rte': did you mean 'rate'?"),
        ("--set locl.rate=1", "There is no table 'locl': did you mean 'local'?"),
        ("--set rate=1", "'rate' does not say which table it belongs to"),
        ("--set clients=20", "such as data.clients or attack.clients or network.clients."),
        ("--set folder=L", "such as data.folder."),
        ("--set groups=2", "such as algorithm.groups."),
        ("--algorithm fedavg --set algorithm.groups=true", "has no groups"),
        ("--set algorithm.mu=1", "[algorithm] has no setting 'mu': the weight of FedProx's term"),
        ("--dataset MNIST --data nowhere", "There is no dataset 'MNIST': did you mean 'mnist'?"),
        ("--data b\udcff", "(data) is not UTF-8 text"),
        ("--set rate", "'rate' is not of the form KEY=VALUE, such as local.rate=0.05."),
        ("--set local.rate=fast", "[local] rate must be a number, not 'fast'."),
        ("--set data.clients=100000", "clients"),
        ("--model cnn --dataset synthetic", "The cnn needs images"),
        ("--model nowhere:net", "The model 'nowhere:net' could not be imported"),
        ("--dataset mnist", "run 'flexcfl data fetch mnist'"),
        ("--dataset mnist --data nowhere", "is not a folder: correct --data."),
        ("--epochs 1000000000000000", "[local] epochs must be less than or equal to 1000000000"),
        ("--algorithm fedavg --model mlp --rate 1e30", "that trained in round 1 diverged"),
        ("nowhere.toml", "'nowhere.toml' cannot be read (No such file or directory)"),
        ("one.toml two.toml", "two.toml"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    words: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in refusal(capsys, *words.split())
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("key", ["local.rate", "local.epochs", "run.seed"])
@pytest.mark.parametrize(
    "value", ["9" * 5000, f"0x{'f' * 5000}", "[" * 3000], ids=["digits", "hex", "nesting"]
)
def test_a_value_beyond_all_measure_is_one_sentence(
    key: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table, name = key.split(".")
    sentence = refusal(capsys, "--set", f"{key}={value}")
    assert sentence.startswith(f"[{table}] {name} must be ")
    assert len(sentence) < 200


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[local]\nrate = \n", "line 2"),
        ("[local\n", "line 1"),
        ("[locl]\nrate = 1\n", "There is no table 'locl': did you mean 'local'?"),
        ("[local]\nrte = 1\n", "[local] has no setting 'rte': did you mean 'rate'?"),
        ("rate = 1\n", "'rate' does not say which table it belongs to"),
        ("[run]\nrounds = '9'\ncohort = []\n", "[run] cohort must be a whole number"),
        ("[data]\nname = 'digits'\nclients = 0\n", "[data] clients must be"),
        ("[algorithm]\nname = 'fedavg'\nalpha = 20\n", "[algorithm] has no setting 'alpha'"),
        ("[model]\nname = 'a\u2028b'\n", r"There is no model 'a\u2028b'"),
        ('[model]\nname = "a\\nb"\n', r"There is no model 'a\nb'"),
        ("[model]\nname = 7\n", "[model] name must be a text, not 7."),
        ("\x00", "line 1"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(
    text: str, sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "my.toml").write_text(text)
    assert sentence in refusal(capsys, "my.toml")
    assert [path.name for path in here.iterdir()] == ["my.toml"]


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to")],
)
def test_too_little_memory_is_one_sentence(
    error: Exception,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def exhausted(*_: object) -> None:
        raise error

    monkeypatch.setattr("flexcfl.engine.Engine.train", exhausted)
    assert "too little memory: lower --epochs" in refusal(capsys, *SHORT)
    assert list(here.iterdir()) == []


def test_a_folder_that_cannot_be_used_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "full").mkdir()
    (here / "full" / "file").write_text("mine")
    assert "exists already and is not an empty folder" in refusal(capsys, "--out", "full")
    assert "exists already" in refusal(capsys, "--out", "full/file")
    assert "cannot be used" in refusal(capsys, "--out", "full/file/run", *SHORT)
    assert [path.name for path in here.rglob("*")] == ["full", "file"]
    (here / "runs").symlink_to("nowhere")
    assert "'runs' cannot be used" in refusal(capsys, *SHORT)


def idx(values: bytes, *shape: int) -> bytes:
    return struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + values


def write_mnist(folder: Path, **broken: bytes) -> None:
    """Write MNIST's four files, tiny, some with other content instead."""
    folder.mkdir(parents=True)
    for part in (TRAIN, TEST):
        images, labels = idx(bytes(2 * 28 * 28), 2, 28, 28), idx(bytes(2), 2)
        images = broken.get(f"{part}_images", gzip.compress(images))
        labels = broken.get(f"{part}_labels", gzip.compress(labels))
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(images)
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(labels)


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ({"train_images": gzip.compress(idx(bytes(784 * 2), 2, 28, 28))[:-9]}, "train-images"),
        ({"t10k_images": b"this is no gzip"}, "t10k-images"),
        ({"train_images": gzip.compress(idx(bytes(784), 2, 28, 28))}, "train-images"),
        ({"train_labels": gzip.compress(idx(bytes(3), 3))}, "3"),
        ({"t10k_labels": gzip.compress(idx(bytes([200, 0]), 2))}, "t10k-labels"),
    ],
)
def test_broken_files_are_named(
    broken: dict[str, bytes], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_mnist(tmp_path / "data" / "mnist", **broken)
    assert named in refusal(capsys, "--dataset", "mnist", "--data", str(tmp_path / "data"))


def write_leaf(folder: Path, **users: Any) -> None:
    content = {"users": list(users), "user_data": users}
    for part in ("train", "test"):
        (folder / part).mkdir(parents=True)
        (folder / part / "all.json").write_text(json.dumps(content))


def test_a_users_own_files_can_be_run(here: Path, tmp_path: Path) -> None:
    user = {"x": [[0.0, 1.0], [1.0, 0.0]], "y": [0, 1]}
    write_leaf(tmp_path / "leaf", ann=user, bob=user)
    words = ["--dataset", "leaf", "--set", f"data.folder={tmp_path / 'leaf'}", "--groups", "1"]
    words += ["--cohort", "2"]
    assert main(["run", "-q", "--rounds", "2", "--out", "mine", *words]) == 0
    assert json.loads((here / "mine" / "summary.json").read_text())["clients"] == 2


def test_the_file_of_a_run_on_ones_own_files_can_be_run_from_another_folder(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = {"x": [[0.0, 1.0], [1.0, 0.0]], "y": [0, 1]}
    write_leaf(here / "leaf", ann=user, bob=user)
    words = ["--dataset", "leaf", "--set", "data.folder=leaf", "--data", "..", "--groups", "1"]
    words += ["--cohort", "2"]
    assert main(["run", "-q", "--rounds", "2", "--out", "mine", *words]) == 0
    monkeypatch.chdir(tmp_path)
    assert main(["run", "-q", "--out", "again", "here/mine/experiment.toml"]) == 0
    assert (tmp_path / "again" / "rounds.csv").read_bytes() == (
        here / "mine" / "rounds.csv"
    ).read_bytes()


def test_the_file_of_a_run_can_be_varied(here: Path) -> None:
    assert main(["run", "-q", "--out", "one", *SHORT]) == 0
    again = ["run", "-q", "one/experiment.toml"]
    assert main([*again, "--out", "iid", "--set", "data.partition=iid"]) == 0
    assert main([*again, "--out", "synthetic", "--dataset", "synthetic"]) == 0
    written = (here / "synthetic" / "experiment.toml").read_text()
    assert "rate = 0.01\n" in written
    assert "rounds = 2\n" in written


@pytest.mark.parametrize("content", ['{"users": ["ann"', "[]", "", '{"users": 1, "user_data": 2}'])
def test_broken_json_is_named(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_leaf(tmp_path / "leaf", ann={"x": [[0.0]], "y": [0]})
    (tmp_path / "leaf" / "train" / "all.json").write_text(content)
    words = ["--dataset", "leaf", "--set", f"data.folder={tmp_path / 'leaf'}"]
    assert "all.json" in refusal(capsys, *words)


NETWORKS = """
from torch import nn
def small(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
def wrong_input(): return nn.Sequential(nn.Flatten(), nn.Linear(63, 10))
def wrong_output(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 9))
def batch_norm(): return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, 10))
"""


def test_a_network_of_ones_own(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "networks_of_mine.py").write_text(NETWORKS)
    assert main(["run", "-q", "--model", "networks_of_mine:small", "--out", "a", *SHORT]) == 0
    for name, word in (("wrong_input", "63"), ("wrong_output", "9"), ("batch_norm", "BatchNorm1d")):
        assert word in refusal(capsys, "--model", f"networks_of_mine:{name}", "--out", "b", *SHORT)
    assert not (here / "b").exists()


def test_ctrl_c_ends_the_run_with_130_and_says_where_its_rounds_are(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = Simulation.at

    def interrupted(self: Simulation, number: int) -> Executor:
        if number == 2:
            raise KeyboardInterrupt
        return at(self, number)

    monkeypatch.setattr(Simulation, "at", interrupted)
    assert main(["run", "--out", "mine", *SHORT]) == 130
    captured = capsys.readouterr()
    assert captured.err == "Interrupted.\n"
    assert "The rounds so far are in 'mine'." in captured.out
    assert len((here / "mine" / "rounds.csv").read_text().splitlines()) == 2
    assert not (here / "mine" / "summary.json").exists()


def test_an_error_of_the_operating_system_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: RunFolder, settings: str, files: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(RunFolder, "begin", full)
    assert "'somewhere' cannot be used (No space left on device): see" in refusal(capsys, *SHORT)


def test_a_fault_of_the_program_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("flexcfl.engine.Engine.train", broken)
    with pytest.raises(RuntimeError, match="a fault"):
        main(["run", *SHORT])


def test_a_run_that_fails_later_says_where_its_rounds_are(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--rate", "0.1", "--set", "local.l2=10.5", "--rounds", "300", "--out", "dv[x]"]
    assert main(["run", *words]) == 2
    captured = capsys.readouterr()
    assert "lower the rate (--rate), local.l2 or local.prox." in captured.err
    assert captured.out.endswith("The rounds so far are in 'dv[x]'.\n")
    assert (here / "dv[x]" / "rounds.csv").exists()


def test_without_a_terminal_a_row_is_one_line_without_padding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", *SHORT]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("data ") and line.endswith("test_share 0.2") for line in lines)
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.slow
def test_an_output_that_is_not_utf_8_is_no_obstacle(here: Path) -> None:
    # FORCE_COLOR makes Rich take the pipe for a terminal, with its spinner and its bar.
    words = ["--out", "é€", "--algorithm", "fedavg", *SHORT]
    with started("run", *words, encoding="ascii", FORCE_COLOR="1", PYTHONUTF8="1") as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert "folder" in out
    assert (here / "é€" / "summary.json").exists()


@pytest.mark.slow
def test_ctrl_c_pressed_again_and_again_is_like_once(here: Path) -> None:
    words = ["--algorithm", "fedavg", "--rounds", "1000000", "--set", "data.clients=20"]
    with started("run", *words, "--out", "mine") as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("round "):
            assert process.poll() is None
        for _ in range(20):
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    # Whether the second comes before the notice, or before the round has ended, is luck.
    *notices, last = filter(None, err.splitlines())
    assert len(notices) <= 1
    assert all(each.startswith("Stopping after this round") for each in notices)
    assert last == "Interrupted." or last.startswith("Stopped after round ")
    assert (here / "mine" / "rounds.csv").read_text().endswith("\n")
