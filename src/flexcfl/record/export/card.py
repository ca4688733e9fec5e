"""What is said of models for others: the model card, and ``config.json`` for programs.

The card is a README that people read and that Hugging Face's hub understands.

Reference: Hugging Face, "Model Cards" (https://huggingface.co/docs/hub/model-cards); Mitchell et
al.: Model Cards for Model Reporting. FAT* 2019.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flexcfl.record.export.markdown import fenced, front_matter, plain, table
from flexcfl.record.summary import Summary

__all__ = ["ExportedGroup", "ExportedRun", "card", "config"]

KEYS = ("algorithm", "dataset", "model", "shape", "classes", "parameters", "rounds", "seed")
SOME = 20  # so many clients of a group are named
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class ExportedGroup:
    """One model: its accuracy on its clients, where that was measured, and their numbers.

    One that is ``waiting`` is no group, but serves clients until they follow those of a group that
    was divided.
    """

    group: int
    file: str
    accuracy: float | None
    waiting: bool
    clients: tuple[int, ...]


@dataclass(frozen=True)
class ExportedRun:
    """All that there is to tell of a run whose models are taken away.

    ``summary`` is its ``summary.json`` and ``settings`` the text of its experiment, which was
    started by a ``command``. ``folder`` is the name of its folder, where it has one. ``module`` is
    Python that makes the module, with torch alone, where that is known.
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
    """Return JSON: what a model takes and gives, the groups, and who is in which of them."""
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
    """Return the text of a README.md."""
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
    # The licence is for whoever publishes to say, and depends on the data.
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
            f"The module is the publisher's own ({plain(summary['model'])}): make it as it was "
            "made for training, and give it the tensors of a group, "
            f'`model.load_state_dict(safetensors.torch.load_file("{run.groups[0].file}"))`.'
        ]
    if run.folder is not None:
        parts += ["From the folder of the run, with all its figures:", _whole_run(run)]
    return parts


def _whole_run(run: ExportedRun) -> str:
    own = ", model=make" if "model" in run.summary["own"] else ""
    lines = [
        "import flexcfl",
        "",
        f"run = flexcfl.load({run.folder!r}{own})",
        f"model = run.model({run.groups[0].group})",
        "placement = run.place(x, y)  # which group fits examples of somebody new",
    ]
    return fenced("python", "\n".join(lines))


def _data(summary: Summary) -> str:
    shift = summary["shift"]
    changed = f" While it went on, data changed: {plain(shift)}." if shift else ""
    brought = " They were brought along from Python." if "data" in summary["own"] else ""
    return (
        f"The clients' data are {plain(summary['dataset'])}: {summary['clients']:,} clients, "
        f"{summary['classes']:,} classes.{brought}{changed}"
    )


def _groups(run: ExportedRun) -> str:
    rows = [_group(group, run.names) for group in run.groups]
    if run.auxiliary is not None:
        rows.append([f"`{run.auxiliary}`", "the mean of all", "", ""])
    told = table(["file", "clients", "accuracy on them", "which"], rows)
    return f"{told}\n\nWho is in which group is in `config.json` in full."


def _group(group: ExportedGroup, names: Sequence[str]) -> list[str]:
    called = [plain(names[client] if names else client) for client in group.clients[:SOME]]
    more = len(group.clients) - len(called)
    which = ", ".join([*called, *([f"and {more:,} more"] if more else [])])
    number = f"{len(group.clients):,}{' waiting to follow' if group.waiting else ''}"
    return [f"`{group.file}`", number, _percent(group.accuracy), which]


def _results(summary: Summary) -> str:
    traffic = summary["traffic"]
    rows = [[f"accuracy, {name}", _percent(value)] for name, value in _scores(summary).items()]
    beside = summary["auxiliary"]
    if beside is not None:
        rows.append(["accuracy of the one model for everybody, final", _percent(beside["final"])])
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
        told = f"{privacy['epsilon']:.4g} at delta {privacy['delta']:.2g}"
        rows.append([f"epsilon ({plain(privacy['level'])})", told])
    words = (
        "Accuracy is over all clients, each with its group's model on its own test examples; "
        f"final is the mean of the last ten rounds.{_since(summary['accuracy'])}"
    )
    return f"{table(['', ''], rows)}\n\n{words}"


def _since(accuracy: Mapping[str, Any]) -> str:
    """Say from which round on accuracy was measured, where that is not the first."""
    first = accuracy.get("first_round") or 1  # summaries of earlier versions do not say so
    return f" It was measured from round {first:,} on." if first > 1 else ""


def _versions(summary: Summary) -> str:
    listed = ", ".join(f"{plain(name)} {plain(each)}" for name, each in summary["versions"].items())
    return f"Seed {summary['seed']}; {listed}; {summary['seconds']:.0f} seconds."


def _percent(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.1%}"
