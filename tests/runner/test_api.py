"""``flexcfl.run``: whole runs, small ones."""

import csv
import dataclasses
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

import flexcfl
from flexcfl.algorithms import ALGORITHMS, AlgorithmEntry
from flexcfl.data import Federation, IndexLists
from flexcfl.errors import ModelError, SettingsError, TrainingError
from flexcfl.protocol import NO_GROUP
from flexcfl.record.record import Record
from flexcfl.report.charts import chart
from tests.runner.parity import Parity

SHORT: dict[str, Any] = {"rounds": 3, "cohort": 3, "epochs": 1}
FEDAVG: dict[str, Any] = {**SHORT, "algorithm": "fedavg"}


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def linear() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3))


def test_a_run_learns(blobs: Federation) -> None:
    run = flexcfl.run(dataset=blobs, rounds=30, epochs=2, rate=0.1)
    assert run.accuracy.best is not None
    assert run.accuracy.best > 0.9
    assert run.folder is None


def test_the_default_needs_no_argument_but_time() -> None:
    run = flexcfl.run(rounds=1)
    assert run.summary["dataset"] == "digits"
    assert run.summary["clients"] == 100


def test_the_same_seed_gives_the_same_run_bit_for_bit(blobs: Federation) -> None:
    one, same, other = (flexcfl.run(dataset=blobs, seed=seed, **FEDAVG) for seed in (1, 1, 2))
    for column, values in one.rounds.items():
        assert np.array_equal(values, same.rounds[column], equal_nan=True), column
    assert np.array_equal(one.models[0], same.models[0])
    assert not np.array_equal(one.models[0], other.models[0])


def test_fedprox_without_its_term_is_fedavg_and_with_it_is_not(blobs: Federation) -> None:
    fedavg = flexcfl.run(dataset=blobs, **FEDAVG)
    without = flexcfl.run(dataset=blobs, algorithm="fedprox", set={"local.prox": 0}, **SHORT)
    fedprox = flexcfl.run(dataset=blobs, algorithm="fedprox", **SHORT)
    assert np.array_equal(fedavg.models[0], without.models[0])
    assert not np.array_equal(fedavg.models[0], fedprox.models[0])
    assert fedprox.experiment.local.prox == 1
    held, free = (run.summary["discrepancy"]["mean"] for run in (fedprox, fedavg))
    assert held is not None
    assert free is not None
    assert held < free


def test_the_model_is_ready_and_gives_the_accuracy_that_was_measured(blobs: Federation) -> None:
    run = flexcfl.run(dataset=blobs, **FEDAVG)
    module = run.model()
    assert not module.training
    tested = blobs.test.indices
    with torch.no_grad():
        guesses = module(torch.from_numpy(blobs.x[tested])).argmax(dim=1).numpy()
    assert (guesses == blobs.y[tested]).mean() == run.rounds["accuracy"][-1]
    with pytest.raises(SettingsError, match="no group 1"):
        run.model(1)


def test_the_folder_says_the_same_as_the_object(blobs: Federation, tmp_path: Path) -> None:
    run = flexcfl.run(dataset=blobs, out=tmp_path / "run", set={"run.evaluate_every": 2}, **FEDAVG)
    assert run.folder == tmp_path / "run"
    summary = json.loads((run.folder / "summary.json").read_text())
    assert summary == run.summary
    lines = table(run.folder / "rounds.csv")
    assert [line["accuracy"] == "" for line in lines] == [True, False, False]
    for column, values in run.rounds.items():
        written = [float(line[column]) if line[column] else np.nan for line in lines]
        assert np.array_equal(written, values, equal_nan=True), column
    with safe_open(run.folder / "models" / "group-0.safetensors", "numpy") as file:
        named = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(file.metadata()["flexcfl"])
    for name, values in run.model().state_dict().items():
        assert np.array_equal(named[name], values.numpy())
    assert about["group"] == 0
    assert about["algorithm"] == "fedavg"


class Odd(nn.Module):
    """A module with more state than plain float32 blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 2).T)
        self.register_buffer("table", torch.arange(6).reshape(2, 3).T)
        self.register_buffer("flag", torch.tensor(data=True))
        self.register_buffer("scale", torch.tensor(0.5))
        self.register_buffer("passing", torch.ones(1), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight


def test_the_whole_state_of_a_model_is_saved_as_it_is(blobs: Federation, tmp_path: Path) -> None:
    run = flexcfl.run(dataset=blobs, model=Odd, out=tmp_path / "run", **FEDAVG)
    state = run.model().state_dict()
    saved = load_file(tmp_path / "run" / "models" / "group-0.safetensors")
    assert set(saved) == set(state) == {"weight", "table", "flag", "scale"}
    for name, values in state.items():
        assert saved[name].dtype == values.dtype
        assert torch.equal(saved[name], values), name


def test_the_summary_has_all_its_figures(blobs: Federation) -> None:
    summary = flexcfl.run(dataset=blobs, **FEDAVG).summary
    assert set(summary) == {
        *("algorithm", "dataset", "model", "shift", "seed", "rounds", "clients", "parameters"),
        *("shape", "classes", "own"),
        *(
            "accuracy",
            "honest",
            "newcomers",
            "auxiliary",
            "rounds_to",
            "discrepancy",
            "loss",
            "diverged",
        ),
        *("aggregation", "attack", "rejected", "clipped", "privacy"),
        *(
            "groups",
            "placed",
            "clustering",
            "adjusted_rand_index",
            "seconds",
            "versions",
            "processor",
        ),
        *("waiting", "traffic", "network", "shifted", "detected", "placed_again", "migrations"),
    }
    assert (summary["groups"], summary["placed"], summary["waiting"]) == (1, 6, 0)
    for name in ("newcomers", "auxiliary", "clustering", "adjusted_rand_index"):
        assert summary[name] is None
    assert set(summary["accuracy"]) == {"best", "final", "median", "first_round"}
    assert set(summary["rounds_to"]) == {"0.8", "0.85", "0.9", "0.95"}
    assert summary["traffic"] == {
        "transfers": 3 * 2 * 3,
        "relative_to_fedavg": 1,
        "down_bytes": 3 * 3 * 9 * 4,
        "up_bytes": 3 * 3 * (9 * 4 + 3 * 8),
    }
    assert not any(summary[each] for each in ("shifted", "detected", "placed_again", "migrations"))
    assert set(summary["discrepancy"]) == {"mean", "variance"}
    assert set(summary["versions"]) == {"flexcfl", "python", "torch", "numpy"}
    assert (summary["shift"], summary["rounds"], summary["parameters"]) == (None, 3, 9)


def test_labels_are_in_the_object_and_in_the_folder(blobs: Federation, tmp_path: Path) -> None:
    run = flexcfl.run(dataset=blobs, out=tmp_path / "run", **FEDAVG)
    assert list(run.labels) == ["client", "label", "train", "test"]
    lines = table(tmp_path / "run" / "labels.csv")
    for name, column in run.labels.items():
        assert [int(line[name]) for line in lines] == column.tolist()
    for name, lists in (("train", blobs.train), ("test", blobs.test)):
        sizes = np.bincount(run.labels["client"], run.labels[name])
        assert sizes.tolist() == lists.sizes.tolist()
    assert flexcfl.run(dataset=blobs, **FEDAVG).labels["train"].tolist() == (
        run.labels["train"].tolist()
    )


def test_labels_are_there_before_the_first_round(
    blobs: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, seen = tmp_path / "run", []

    def failing(*_: object) -> None:
        seen.extend(sorted(path.name for path in folder.iterdir() if path.suffix == ".csv"))
        raise TrainingError("This is a test.")

    monkeypatch.setattr("flexcfl.algorithms.FedAvg.start", failing)
    with pytest.raises(TrainingError, match="a test"):
        flexcfl.run(dataset=blobs, out=folder, **FEDAVG)
    assert seen == ["labels.csv"]
    assert not folder.exists()  # the run failed, so the folder is removed


@pytest.fixture
def parity(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register the tiny algorithm of these tests, and return its name."""
    entry = AlgorithmEntry("even and odd", make=lambda options, local: Parity())
    monkeypatch.setitem(ALGORITHMS.ours, "parity", entry)
    return "parity"


def test_groups_are_in_the_object_and_in_the_folder(
    blobs: Federation, parity: str, tmp_path: Path
) -> None:
    known = dataclasses.replace(blobs, structure=np.array([7, 3, 7, 3, 7, 7]))
    arrivals = {"data.arrivals": [{"round": 3, "share": 1 / 6}]}
    run = flexcfl.run(
        dataset=known, algorithm=parity, rounds=4, cohort=5, set=arrivals, out=tmp_path / "run"
    )
    folder = tmp_path / "run"
    assert len(run.models) == run.summary["groups"] == 2
    lines = table(folder / "groups.csv")
    assert [(line["round"], line["group"]) for line in lines] == [
        (str(number), str(group)) for number in range(1, 5) for group in range(2)
    ]
    for column, values in run.groups.items():
        written = [float(line[column]) if line[column] else np.nan for line in lines]
        assert np.array_equal(written, values, equal_nan=True), column
    clients = table(folder / "clients.csv")
    assert [line["structure"] for line in clients] == list("737377")
    assert sorted(line["arrival"] for line in clients) == list("000003")
    groups = [int(line["group"]) if line["group"] else NO_GROUP for line in clients]
    assert groups == run.group_of.tolist()
    assert run.clustering is not None
    assert repr(run.clustering) == "Clustering(clients 2, groups 2, silhouette unknown)"
    founders = table(folder / "founders.csv")
    assert [int(line["client"]) for line in founders] == run.clustering.clients.tolist()
    assert [float(line["x1"]) for line in founders] == [1 / 3, 0.5]
    assert run.summary["clustering"] == {
        "founders": 2,
        "groups": 2,
        "within": 0.25,
        "silhouette": None,
    }


def test_groups_are_held_against_the_structure_that_is_known(
    blobs: Federation, parity: str
) -> None:
    for structure, expected in (([0, 1] * 3, 1.0), ([5] * 6, 0.0)):
        known = dataclasses.replace(blobs, structure=np.array(structure))
        run = flexcfl.run(dataset=known, algorithm=parity, rounds=2)
        assert run.summary["adjusted_rand_index"] == expected
        assert run.summary["placed"] == 6


def test_the_auxiliary_model_is_saved_and_summed_up(
    blobs: Federation, parity: str, tmp_path: Path
) -> None:
    run = flexcfl.run(dataset=blobs, algorithm=parity, rounds=2, out=tmp_path / "run")
    assert run.summary["auxiliary"] is not None
    assert set(run.summary["auxiliary"]) == {"best", "final", "median", "first_round"}
    assert run.auxiliary is not None
    saved = load_file(tmp_path / "run" / "models" / "auxiliary.safetensors")
    for name, values in run.engine.module(run.auxiliary).state_dict().items():
        assert torch.equal(saved[name], values)


def test_newcomers_are_summed_up_by_themselves(blobs: Federation) -> None:
    later = {"data.arrivals": [{"round": 2, "share": 0.5}]}
    run = flexcfl.run(dataset=blobs, set=later, **FEDAVG)
    curve = run.rounds["newcomers_accuracy"]
    assert np.isnan(curve).tolist() == [True, False, False]
    assert run.summary["newcomers"] is not None
    assert run.summary["newcomers"]["best"] == curve[1:].max()
    assert run.summary["newcomers"]["first_round"] == 2
    assert run.rounds["placed"].tolist() == [3, 6, 6]


def test_later_arrivals_can_be_set_in_a_file_with_custom_data(blobs: Federation) -> None:
    later = [{"round": 2, "share": 0.5}]
    run = flexcfl.run({"data": {"name": "digits", "arrivals": later}}, dataset=blobs, **FEDAVG)
    assert run.experiment.tables()["data"] == {"name": "blobs", "arrivals": later}
    again = flexcfl.run(run.experiment, dataset=blobs)
    assert np.array_equal(run.models[0], again.models[0])


@pytest.mark.parametrize(
    ("arrivals", "sentence"),
    [
        ([{"round": 2, "share": 0.01}], "A share of 0.01 of 6 clients, to appear in round 2, is n"),
        ([{"round": 2, "share": 0.6}], "A cohort of 3 is larger than the 2 of 6 clients that are "),
        ([{"round": 9, "share": 0.5}], "[data] arrivals has clients appear in round 9, and the "),
    ],
)
def test_arrivals_that_do_not_fit_are_one_sentence(
    blobs: Federation, arrivals: list[dict[str, Any]], sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        flexcfl.run(dataset=blobs, set={"data.arrivals": arrivals}, **FEDAVG)
    assert str(caught.value).startswith(sentence)


def test_running_experiment_toml_again_gives_the_same_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    settings = {"data.clients": 20, "local.l2": 1e-3}
    flexcfl.run(algorithm="fedprox", rate=0.07, seed=3, set=settings, out=one, **SHORT)
    flexcfl.run(one / "experiment.toml", out=other)
    for name in ("experiment.toml", "rounds.csv", "models/group-0.safetensors"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_an_experiment_may_be_tables_or_an_experiment_of_an_earlier_run() -> None:
    tables = {"data": {"name": "digits", "clients": 10}, "run": {"rounds": 1, "cohort": 2}}
    one = flexcfl.run(tables)
    other = flexcfl.run(one.experiment)
    assert one.summary["clients"] == 10
    assert np.array_equal(one.models[0], other.models[0])
    assert flexcfl.run(tables, seed=5).experiment.run.seed == 5


def test_a_custom_model(blobs: Federation, tmp_path: Path) -> None:
    run = flexcfl.run(dataset=blobs, model=linear, out=tmp_path / "run", **FEDAVG)
    assert run.summary["model"].endswith(":linear")
    settings = (tmp_path / "run" / "experiment.toml").read_text()
    assert "from Python, which alone has its data.\n" in settings
    out = tmp_path / "anonymous"
    anonymous = flexcfl.run(dataset=blobs, model=lambda: nn.Linear(2, 3), out=out, **FEDAVG)
    assert anonymous.summary["parameters"] == 9
    settings = (out / "experiment.toml").read_text()
    assert "from Python, which alone has its data and model.\n" in settings


def test_custom_data_replace_the_data_of_the_experiment(
    blobs: Federation,
) -> None:
    tables = {"data": {"name": "blobs", "clients": 3}, "local": {"rate": 0.5}}
    run = flexcfl.run(tables, dataset=blobs, **FEDAVG)
    assert run.summary["clients"] == 6
    assert run.experiment.local.rate == 0.5
    with pytest.raises(SettingsError, match="no setting 'clients'"):
        flexcfl.run(dataset=blobs, set={"data.clients": 3}, **FEDAVG)


def test_custom_data_remove_the_settings_of_the_replaced_dataset(
    blobs: Federation,
) -> None:
    digits = flexcfl.run(rounds=1).experiment
    run = flexcfl.run(digits, dataset=blobs, rounds=1)
    assert run.experiment.local.rate == 0.03
    assert run.experiment.run.cohort == blobs.clients


def test_a_small_federation_gets_a_cohort_that_fits(blobs: Federation) -> None:
    run = flexcfl.run(dataset=blobs, rounds=1)
    assert run.experiment.run.cohort == blobs.clients
    with pytest.raises(SettingsError, match=r"cohort of 7 is larger .*'blobs', which has 6"):
        flexcfl.run(dataset=blobs, rounds=1, cohort=7)


def test_a_federation_without_test_data_has_no_accuracy(blobs: Federation, tmp_path: Path) -> None:
    nothing = dataclasses.replace(
        blobs,
        test=IndexLists(np.empty(0, np.int64), np.zeros(7, np.int64)),
    )
    run = flexcfl.run(dataset=nothing, out=tmp_path / "run", **FEDAVG)
    assert np.isnan(run.rounds["accuracy"]).all()
    assert run.accuracy.best is None


def test_training_that_diverges_in_round_one_leaves_nothing(
    blobs: Federation, tmp_path: Path
) -> None:
    with pytest.raises(
        TrainingError, match=r"of all 3 clients .* in round 1 diverged.*lower the rate"
    ):
        flexcfl.run(dataset=blobs, model="mlp", rate=1e30, out=tmp_path / "run", **FEDAVG)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"model": "nonsense"}, ModelError),
        ({"model": "cnn"}, ModelError),
        ({"model": lambda: nn.Linear(5, 3)}, ModelError),
        ({"device": "nonsense"}, SettingsError),
        ({"cohort": 99}, SettingsError),
        ({"rate": float("nan")}, SettingsError),
        ({"set": {"local.rte": 1}}, SettingsError),
    ],
)
def test_everything_is_checked_before_the_folder_is_made(
    blobs: Federation, tmp_path: Path, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        flexcfl.run(dataset=blobs, out=tmp_path / "run", **{**FEDAVG, **options})
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_refused(blobs: Federation, tmp_path: Path) -> None:
    flexcfl.run(dataset=blobs, out=tmp_path / "run", **FEDAVG)
    with pytest.raises(SettingsError, match="exists already"):
        flexcfl.run(dataset=blobs, out=tmp_path / "run", **FEDAVG)


def test_progress_is_shown_where_asked(
    blobs: Federation, capsys: pytest.CaptureFixture[str]
) -> None:
    flexcfl.run(dataset=blobs, **FEDAVG)
    assert capsys.readouterr().out == ""
    flexcfl.run(dataset=blobs, progress=True, **FEDAVG)
    assert re.search(r"^round 3/3  accuracy \d+\.\d%  loss \d\.\d+$", capsys.readouterr().out, re.M)


def test_a_silent_run_leaves_the_output_to_its_caller(
    blobs: Federation, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a terminal, Rich's live displays would take what others print.
    monkeypatch.setenv("FORCE_COLOR", "1")

    def talking() -> nn.Module:
        print("made")  # noqa: T201
        return linear()

    flexcfl.run(dataset=blobs, model=talking, **FEDAVG)
    assert set(capsys.readouterr().out.split()) == {"made"}


def test_a_run_tells_what_it_is(blobs: Federation) -> None:
    class Listener(flexcfl.Callback):
        def round(self, done: Any) -> None:
            self.heard = repr(done), repr(done.serving)

    listener = Listener()
    run = flexcfl.run(dataset=blobs, callbacks=[listener], **FEDAVG)
    assert repr(run).startswith("Run(fedavg, blobs, mclr, 3 rounds")
    final = f"accuracy {run.rounds['accuracy'][-1]:.4g}, loss {run.rounds['loss'][-1]:.4g}"
    clients = len(run.group_of)
    assert listener.heard == (
        f"Round(3, {final})",
        f"Serving(models 1 x {len(run.models[0])}, clients placed {clients} of {clients})",
    )
    assert Record.__repr__(run) == f"Record(fedavg, seed 0, rounds 3 of 3, clients {clients})"
    assert repr(chart("accuracy", [run])) == "Chart(accuracy: Accuracy over rounds)"


def test_the_package_offers_what_it_says() -> None:
    assert all(hasattr(flexcfl, name) for name in flexcfl.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        flexcfl.nonsense  # noqa: B018


def needy(width: int) -> nn.Module:
    return nn.Linear(width, 3)


def broken() -> nn.Module:
    raise KeyError("width")


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (nn.Linear(2, 3), "is a module that has already been made"),
        (needy, "cannot be called without arguments"),
        (lambda: None, "it must return a torch.nn.Module"),
        (broken, r"could not be made \(KeyError"),
    ],
)
def test_what_makes_no_model_is_reported_as_by_the_command(
    blobs: Federation, model: Any, sentence: str
) -> None:
    with pytest.raises(ModelError, match=sentence):
        flexcfl.run(dataset=blobs, model=model, **FEDAVG)


def test_a_partial_factory_has_the_name_of_what_it_calls(blobs: Federation) -> None:
    run = flexcfl.run(dataset=blobs, model=partial(needy, 2), **FEDAVG)
    assert run.summary["model"].endswith(":needy")


def test_settings_may_be_nested_but_not_a_list(blobs: Federation) -> None:
    run = flexcfl.run(dataset=blobs, set={"local": {"prox": 0.1}}, **FEDAVG)
    assert run.experiment.local.prox == 0.1
    words: Any = ["local.prox=0.1"]
    with pytest.raises(SettingsError, match=r"set must be a mapping such as .*'local\.prox=0\.1'"):
        flexcfl.run(dataset=blobs, set=words, **FEDAVG)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"lr": 0.1}, "run() has no argument 'lr': did you mean 'rate'?"),
        ({"n_clusters": 3}, "run() has no argument 'n_clusters': did you mean 'groups'?"),
        ({"verbose": True}, "run() has no argument 'verbose': did you mean 'progress'?"),
        ({"prox": 1}, "run() has no argument 'prox': did you mean set={'local.prox': ...}?"),
        (
            {"momentum": 1},
            "'momentum': clients train by SGD with one rate, without momentum or a s",
        ),
        ({"xyzzy": 1}, "run() has no argument 'xyzzy': it has experiment, dataset, model, algor"),
    ],
)
def test_an_argument_that_there_is_not_is_answered_with_the_one_that_is_meant(
    words: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingsError) as told:
        flexcfl.run(**words)
    assert sentence in str(told.value)
    words = {"path": "mine"}
    with pytest.raises(
        SettingsError, match=r"^resume\(\) has no argument 'path': did you mean 'folder'"
    ):
        flexcfl.resume("mine", **words)
    with pytest.raises(
        SettingsError, match=r"^load\(\) has no argument 'path': did you mean 'folder'"
    ):
        flexcfl.load("mine", **words)


def test_parts_of_the_package_are_there_without_torch() -> None:
    program = """
import sys, flexcfl
assert flexcfl.data.Federation and flexcfl.errors.SettingsError
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
