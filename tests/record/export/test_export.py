"""What others get: unchanged tensors, and a true model card that no name can break."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from safetensors.torch import load_file
from torch import nn

import flexcfl
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import Federation, IndexLists
from flexcfl.errors import SettingsError
from flexcfl.models import build
from flexcfl.models.networks import torch_expression
from flexcfl.record.export import ExportedGroup, ExportedRun, card, config
from tests.runner.test_loading import small

FILES = {"README.md", "config.json", "settings.toml"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> flexcfl.Run:
    folder = tmp_path_factory.mktemp("runs") / "mine"
    return flexcfl.run(dataset="digits", shift="none", rounds=6, epochs=1, out=folder)


@pytest.fixture(scope="module")
def exported(run: flexcfl.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.export(tmp_path_factory.mktemp("export"))


def read(folder: Path) -> str:
    return (folder / "README.md").read_text("utf-8")


def front(text: str) -> Any:
    opening, matter, _ = text.split("---\n", 2)
    assert opening == ""
    return yaml.safe_load(matter)


def blocks(text: str, language: str) -> list[str]:
    tokens = MarkdownIt().parse(text.split("---\n", 2)[2])
    return [each.content for each in tokens if each.type == "fence" and each.info == language]


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_tensors_are_those_of_the_models_bit_for_bit(algorithm: str, tmp_path: Path) -> None:
    run = flexcfl.run(**small(algorithm))
    folder = run.export(tmp_path / "export")
    models = [f"group-{group}.safetensors" for group in range(len(run.models))]
    beside = ["auxiliary.safetensors"] if run.auxiliary is not None else []
    assert {path.name for path in folder.iterdir()} == FILES | {*models, *beside}
    for group, name in enumerate(models):
        saved, state = load_file(folder / name), run.model(group).state_dict()
        assert saved.keys() == state.keys()
        assert all(torch.equal(saved[key], state[key]) for key in state)
    assert front(read(folder))["library_name"] == "pytorch"


def test_the_front_matter_has_the_figures_of_the_run(run: flexcfl.Run, exported: Path) -> None:
    found = front(read(exported))
    assert {"federated-learning", "flexcfl"} <= set(found["tags"])
    assert "license" not in found  # which is for the publisher to say
    (model,) = found["model-index"]
    (result,) = model["results"]
    assert result["dataset"]["name"] == "digits"
    values = {metric["name"]: metric["value"] for metric in result["metrics"]}
    accuracy = run.summary["accuracy"]
    assert values == {f"accuracy ({name})": accuracy[name] for name in ("best", "final", "median")}
    assert f"It was measured from round {accuracy['first_round']} on." in read(exported)
    assert "first" not in read(exported).partition("## Results")[2].partition("##")[0]


def test_the_python_of_the_card_loads_a_model(
    run: flexcfl.Run, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, whole = blocks(read(exported), "python")
    monkeypatch.chdir(exported)
    names: dict[str, Any] = {}
    exec(alone, names)
    assert "flexcfl" not in alone
    shape = run.summary["shape"]
    x = torch.rand(5, *shape)
    assert torch.equal(names["model"](x), run.model(0)(x))
    assert run.folder is not None
    monkeypatch.chdir(run.folder.parent)
    names = {"x": np.zeros((3, *shape)), "y": np.arange(3)}
    exec(whole, names)
    assert torch.equal(names["model"](x), run.model(0)(x))
    assert isinstance(names["placement"], flexcfl.Placement)


def test_the_settings_of_the_card_run_again_to_the_same_models(
    run: flexcfl.Run, exported: Path
) -> None:
    assert blocks(read(exported), "toml") == [(exported / "settings.toml").read_text()]
    again = flexcfl.run(exported / "settings.toml")
    assert np.array_equal(np.stack(again.models), np.stack(run.models))


def test_the_config_says_who_is_in_which_group(run: flexcfl.Run, exported: Path) -> None:
    told = json.loads((exported / "config.json").read_text())
    assert (told["shape"], told["classes"]) == ([1, 8, 8], 10)
    for each in told["groups"]:
        assert (exported / each["file"]).is_file()
        assert each["clients"] == np.flatnonzero(run.group_of == each["group"]).tolist()
    placed = sum(len(each["clients"]) for each in told["groups"])
    assert placed == np.count_nonzero(run.group_of >= 0)


def test_the_folder_of_the_data_is_not_exported(tmp_path: Path) -> None:
    place = tmp_path / "secret place"
    place.mkdir()
    run = flexcfl.run(**small("fedavg"), data=place, out=tmp_path / "run")
    folder = run.export(tmp_path / "export")
    for path in folder.iterdir():
        assert b"secret place" not in path.read_bytes()
        assert str(tmp_path).encode() not in path.read_bytes()


def test_nothing_is_written_over_unless_it_is_asked_for(run: flexcfl.Run, tmp_path: Path) -> None:
    folder = run.export(tmp_path / "export")
    (folder / "group-99.safetensors").write_bytes(b"of an earlier run")
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(SettingsError, match=r"holds something already: .* --force"):
        run.export(folder)
    assert run.export(folder, force=True) == folder
    assert not (folder / "group-99.safetensors").exists()
    assert (folder / "notes.txt").read_text() == "mine"
    with pytest.raises(SettingsError, match="is not a folder"):
        run.export(folder / "notes.txt", force=True)


def test_by_default_it_is_in_the_runs_own_folder(run: flexcfl.Run) -> None:
    assert run.folder is not None
    assert run.export(force=True) == run.folder / "export"
    assert flexcfl.load(run.folder).export(force=True) == run.folder / "export"
    with pytest.raises(SettingsError, match="has no folder"):
        flexcfl.run(**small("fedavg")).export()


HOSTILE = (
    "```\n# gone",
    "| a | b |\n---",
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "![x](http://127.0.0.1/x.png)",
    "\x1b[2J\x00\u202e\ud800",
    "---\nlicense: mit\n---",
    "*_~`$&amp;\\",
)
anything = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))


def named(name: str, names: tuple[str, ...] = (), module: str | None = None) -> ExportedRun:
    """Return a run with this name for everything."""
    accuracy = {"best": 0.5, "final": None, "median": 0.25}
    traffic = {"transfers": 1, "relative_to_fedavg": 1.0, "down_bytes": 2, "up_bytes": 3}
    summary: Any = {
        "accuracy": accuracy,
        "auxiliary": None,
        "traffic": traffic,
        "privacy": None,
        "rounds": 1,
        "clients": 2,
        "parameters": 3,
        "shape": [4],
        "classes": 5,
        "seed": 6,
        "own": ["data", "model"],
        "loss": 0.5,
        "seconds": 1.0,
        "versions": {"flexcfl": name, "torch": name},
    }
    summary |= dict.fromkeys(("algorithm", "dataset", "model", "shift"), name)
    groups = [
        ExportedGroup(0, "group-0.safetensors", 0.5, False, (0, 1)),
        ExportedGroup(1, "group-1.safetensors", None, False, ()),
    ]
    settings = '[data]\nname = "x"\n'
    return ExportedRun(summary, settings, "flexcfl run", groups, None, names, name, module)


@given(name=anything, other=anything)
def test_no_name_can_break_the_card(name: str, other: str) -> None:
    plain, hostile = (named(each, (each, other)) for each in ("plain", name))
    text = card(hostile)
    assert text.isprintable() or set(filter(lambda each: not each.isprintable(), text)) == {"\n"}
    found = front(text)
    assert found.keys() == {"library_name", "tags", "model-index"}
    body, usual = (
        MarkdownIt("commonmark").enable("table").parse(each.split("---\n", 2)[2])
        for each in (text, card(named("plain", ("plain", "other"))))
    )
    assert [each.type for each in body] == [each.type for each in usual]
    inside = [child for each in body for child in each.children or []]
    assert {child.type for child in inside} <= {"text", "code_inline", "softbreak"}
    for code in blocks(text, "python"):
        compile(code, "card", "exec")
    assert json.loads(config(hostile))["dataset"] == name
    assert plain.names[1] == other


def test_hostile_clients_stay_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lists = IndexLists.of([np.arange(4) + 4 * client for client in range(6)])
    x, y = rng.normal(size=(24, 2)), np.arange(24) % 3
    names = HOSTILE[:5] + HOSTILE[6:7]
    own = Federation("mine | ```", x, y, lists, lists, 3, names=names)  # type: ignore[arg-type]
    run = flexcfl.run(dataset=own, algorithm="ifca", groups=2, rounds=1, epochs=1)
    folder = run.export(tmp_path / "export")
    assert json.loads((folder / "config.json").read_text())["names"] == list(names)
    assert "<script>" not in MarkdownIt("commonmark").render(read(folder))


@pytest.mark.parametrize("dataset", ["mnist", "femnist", "fashion-mnist", "digits", "other"])
@pytest.mark.parametrize("name", ["mclr", "mlp", "cnn"])
def test_our_networks_can_be_made_with_torch_alone(dataset: str, name: str) -> None:
    shape = (1, 8, 8) if dataset == "digits" else (1, 28, 28)
    module = build(dataset, name, shape, 7).eval()
    text = torch_expression(module)
    assert text is not None
    again = eval(text, {"nn": nn}).eval()
    again.load_state_dict(module.state_dict())
    x = torch.rand(2, *shape)
    assert torch.equal(again(x), module(x))


class Wrapped(nn.Linear):
    """A layer that may behave differently from its base class."""


@pytest.mark.parametrize(
    "module",
    [
        nn.Linear(2, 2),
        nn.Sequential(Wrapped(2, 2)),
        nn.Sequential(nn.Sequential(nn.Linear(2, 2))),
        nn.Sequential(nn.GELU()),
    ],
)
def test_of_other_modules_nothing_is_made_up(module: nn.Module) -> None:
    assert torch_expression(module) is None


def test_words_of_torch_are_quoted() -> None:
    module = nn.Sequential(nn.Conv2d(1, 1, 3, padding="same", padding_mode="reflect"))
    text = torch_expression(module)
    assert text is not None
    assert repr(eval(text, {"nn": nn})) == repr(module)


def test_a_custom_model_is_described(tmp_path: Path) -> None:
    def mine() -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))

    words = small("fedavg")
    words["set"]["data"] = {**words["set"]["data"], "classes": 2}
    run = flexcfl.run(**words, model=mine, out=tmp_path / "run")
    text = read(run.export())
    assert re.search("The module is the publisher's own", text)
    (whole,) = blocks(text, "python")
    assert "flexcfl.load('run', model=make)" in whole
