"""The description of exported models: a model card for people, ``config.json`` for programs.

The card is a README.md that the Hugging Face Hub understands.

Reference: Hugging Face, "Model Cards" (https://huggingface.co/docs/hub/model-cards); Mitchell et
al.: Model Cards for Model Reporting. FAT* 2019.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flexcfl.record.export.markdown import fenced, front_matter, plain, table
from flexcfl.record.summary import Summary

KEYS = ("algorithm", "dataset", "model", "shape", "classes", "parameters", "rounds", "seed")
SOME = 20  # at most this many clients of a group are listed
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class ExportedGroup:
    """One model with its accuracy on its clients, if measured, and the clients' numbers.

    A ``waiting`` model is not a group. It serves clients of a divided group until they move to a
    new one.
    """

    group: int
    file: str
    accuracy: float | None
    waiting: bool
    clients: tuple[int, ...]


@dataclass(frozen=True)
class ExportedRun:
    """A run whose models are exported.

    ``summary`` is its ``summary.json``, ``settings`` the text of its experiment and ``command`` the
    command that repeats it. ``folder`` is the name of its folder, if it has one. ``module`` is
    Python code that makes the ``nn.Module`` with torch alone, if known.
    """

    summary: Summary
    settings: str
    command: str
    groups: Sequence[ExportedGroup]
    auxiliary: str | None
    names: Sequence[str] = ()
    folder: str | None = None
    module: str | None = None


def config(run: ExportedRun) -> str:
    """Return JSON: the input and output of the models, the groups and their clients."""
    summary: Mapping[str, Any] = run.summary
    entries = {
        **{key: summary[key] for key in KEYS},
        "groups": [asdict(group) for group in run.groups],
        "auxiliary": run.auxiliary,
        "names": list(run.names),
        "flexcfl": summary["versions"]["flexcfl"],
    }
    return f"{json.dumps(entries, indent=2)}\n"


def card(run: ExportedRun) -> str:
    """Return the model card, the text of a README.md."""
    summary = run.summary
    parts = [
        front_matter(_metadata(summary)),
        f"# {plain(_title(summary))}",
        _opening(run),
        "## Load a model",
        *_loading(run),
        "## Data",
        _data(summary),
        "## Groups",
        _groups(run),
        "## Results",
        _results(summary),
        "## How it was trained",
        fenced("console", run.command),
        "All settings, also in `settings.toml`:",
        fenced("toml", run.settings),
        _versions(summary),
    ]
    return "\n\n".join(parts) + "\n"


def _title(summary: Summary) -> str:
    return f"{summary['algorithm']} on {summary['dataset']}, {summary['model']}"


def _metadata(summary: Summary) -> dict[str, Any]:
    # The licence depends on the data, and the publisher has to add it.
    metrics = [
        {"type": "accuracy", "name": f"accuracy ({name})", "value": value}
        for name, value in _scores(summary).items()
        if value is not None
    ]
    result = {
        "task": {"type": "other", "name": "classification"},
        "dataset": {"type": summary["dataset"], "name": summary["dataset"]},
        "metrics": metrics,
    }
    index = {"model-index": [{"name": _title(summary), "results": [result]}]} if metrics else {}
    tags = ["federated-learning", "clustered-federated-learning", summary["algorithm"]]
    return {"library_name": "pytorch", "tags": tags, **index}


def _scores(summary: Summary) -> dict[str, float | None]:
    return {name: summary["accuracy"][name] for name in ("best", "final", "median")}


def _opening(run: ExportedRun) -> str:
    summary, number = run.summary, sum(not group.waiting for group in run.groups)
    models = "one model for everybody" if number == 1 else f"{number} models, one for each group"
    return (
        f"{models[0].upper()}{models[1:]}: trained by federated learning "
        f"({plain(summary['algorithm'])}) over {summary['clients']:,} clients in "
        f"{summary['rounds']:,} rounds, with flexcfl. A model "
        f"takes examples of shape `{tuple(summary['shape'])}` and gives {summary['classes']:,} "
        f"logits; it has {summary['parameters']:,} parameters."
    )


def _loading(run: ExportedRun) -> list[str]:
    summary = run.summary
    shape = ", ".join(map(str, (1, *summary["shape"])))
    head = ["import torch", "from safetensors.torch import load_file"]
    use = [
        f'model.load_state_dict(load_file("{run.groups[0].file}"))',
        f"logits = model.eval()(torch.zeros({shape}))",
    ]
    parts = []
    if run.module is not None:
        made = ["from torch import nn", "", f"model = {run.module}"]
        parts += [fenced("python", "\n".join([*head, *made, *use]))]
    elif summary["model"] in ("mclr", "mlp", "cnn"):
        words = (summary["dataset"], summary["model"], tuple(summary["shape"]), summary["classes"])
        made = ["from flexcfl.models import build", "", f"model = build{words!r}"]
        parts += [fenced("python", "\n".join([*head, *made, *use]))]
    else:
        parts += [
            f"The module is the publisher's own ({plain(summary['model'])}): make it as for "
            "training, and load the tensors of a group, "
            f'`model.load_state_dict(safetensors.torch.load_file("{run.groups[0].file}"))`.'
        ]
    if run.folder is not None:
        parts += ["To load the whole run, with all its figures, from its folder:", _whole_run(run)]
    return parts


def _whole_run(run: ExportedRun) -> str:
    own = ", model=make" if "model" in run.summary["own"] else ""
    lines = [
        "import flexcfl",
        "",
        f"run = flexcfl.load({run.folder!r}{own})",
        f"model = run.model({run.groups[0].group})",
        "placement = run.place(x, y)  # which group fits the examples of a new client",
    ]
    return fenced("python", "\n".join(lines))


def _data(summary: Summary) -> str:
    shift = summary["shift"]
    changed = f" The data changed during training: {plain(shift)}." if shift else ""
    brought = " They were passed in from Python." if "data" in summary["own"] else ""
    return (
        f"The clients' data are {plain(summary['dataset'])}: {summary['clients']:,} clients, "
        f"{summary['classes']:,} classes.{brought}{changed}"
    )


def _groups(run: ExportedRun) -> str:
    rows = [_group(group, run.names) for group in run.groups]
    if run.auxiliary is not None:
        rows.append([f"`{run.auxiliary}`", "the mean of all", "", ""])
    groups = table(["file", "clients", "accuracy on them", "which"], rows)
    return f"{groups}\n\n`config.json` lists all clients of each group."


def _group(group: ExportedGroup, names: Sequence[str]) -> list[str]:
    called = [plain(names[client] if names else client) for client in group.clients[:SOME]]
    more = len(group.clients) - len(called)
    which = ", ".join([*called, *([f"and {more:,} more"] if more else [])])
    number = f"{len(group.clients):,}{' waiting to follow' if group.waiting else ''}"
    return [f"`{group.file}`", number, _percent(group.accuracy), which]


def _results(summary: Summary) -> str:
    traffic = summary["traffic"]
    rows = [[f"accuracy, {name}", _percent(value)] for name, value in _scores(summary).items()]
    auxiliary = summary["auxiliary"]
    if auxiliary is not None:
        name = "accuracy of the one model for everybody, final"
        rows.append([name, _percent(auxiliary["final"])])
    if summary["loss"] is not None:
        rows.append(["training loss, last ten rounds", f"{summary['loss']:.4g}"])
    rows += [
        ["traffic, model transfers", f"{traffic['transfers']:,}"],
        ["traffic, as a multiple of FedAvg's", f"{traffic['relative_to_fedavg']:.2f}"],
        ["traffic, bytes down", f"{traffic['down_bytes']:,}"],
        ["traffic, bytes up", f"{traffic['up_bytes']:,}"],
    ]
    privacy = summary["privacy"]
    if privacy is not None:
        epsilon = f"{privacy['epsilon']:.4g} at delta {privacy['delta']:.2g}"
        rows.append([f"epsilon ({plain(privacy['level'])})", epsilon])
    note = (
        "Accuracy is over all clients, each with its group's model on its own test examples; "
        f"final is the mean of the last ten rounds.{_since(summary['accuracy'])}"
    )
    return f"{table(['', ''], rows)}\n\n{note}"


def _since(accuracy: Mapping[str, Any]) -> str:
    """Return the first round in which accuracy was measured, unless it is round 1."""
    first = accuracy.get("first_round") or 1  # missing in summaries of earlier versions
    return f" It was measured from round {first:,} on." if first > 1 else ""


def _versions(summary: Summary) -> str:
    listed = ", ".join(f"{plain(name)} {plain(each)}" for name, each in summary["versions"].items())
    return f"Seed {summary['seed']}; {listed}; {summary['seconds']:.0f} seconds."


def _percent(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.1%}"
