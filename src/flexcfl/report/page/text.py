"""The texts and tables of a page: the settings, the results, and how to run it again."""

import shlex
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flexcfl.experiment.experiment import Tables
from flexcfl.protocol import Flags
from flexcfl.record.folder import EXPERIMENT
from flexcfl.record.metrics import MeanDeviation
from flexcfl.record.record import Record
from flexcfl.report.page.content import Report, Setting

UNKNOWN = "-"
NAMED = 4  # more methods are only counted, because the table of results names them


@dataclass(frozen=True)
class Line:
    """A method in the table of results, with each figure as text; ``rank`` is the sort key."""

    method: str
    seeds: str
    rounds: str
    final: str
    best: str
    traffic: str
    megabytes: str
    migrations: str
    rank: tuple[bool, float]
    is_first: bool = False


@dataclass(frozen=True)
class Rerun:
    """How to run a method again: a command and the settings file."""

    method: str
    command: str
    seeds: str
    text: str


def title(report: Report) -> str:
    """Return the title of a page."""
    methods = list(dict.fromkeys(method for each in report.settings for method in each.methods))
    where = list(dict.fromkeys(run.settings["data"]["name"] for run in report.runs))
    return f"{_named_or_counted(methods, ' methods')} on {', '.join(where)}"


def _named_or_counted(methods: Collection[str], what: str = "") -> str:
    return f"{len(methods)}{what}" if len(methods) > NAMED else ", ".join(methods)


def progress_text(report: Report) -> str:
    """Return the progress of the runs."""
    done = sum(run.summary is not None for run in report.runs)
    if len(report.runs) == 1 and not done:
        record = report.runs[0]
        return f"round {record.done} of {record.total}"
    if done < len(report.runs):
        rounds = sum(run.done for run in report.runs)
        total = sum(run.total for run in report.runs)
        return f"{done} of {len(report.runs)} runs finished, round {rounds:,} of {total:,}"
    return "finished"


def facts(setting: Setting) -> dict[str, str]:
    """Describe the runs of a setting; values that differ between runs are all listed."""
    first = setting.runs[0].settings
    largest = max(setting.runs, key=lambda run: run.clients)  # a new run may not know all clients
    finished = next((run for run in setting.runs if run.summary), setting.runs[0])
    found = {
        "data": f"{first['data']['name']}, {largest.clients:,} clients{_examples(largest)}",
        "model": f"{first['model']['name']}{_parameters(finished)}",
        "shift": _shift(first),
        "rounds": _either(
            f"{run.total} with {run.settings['run']['cohort']} clients each" for run in setting.runs
        ),
        "local training": _either(_local(run) for run in setting.runs),
        "methods": _named_or_counted(setting.methods),
        "seeds": ", ".join(map(str, sorted({run.seed for run in setting.runs}))),
        "made by": _either(_versions(run) for run in setting.runs),
    }
    return {name: words for name, words in found.items() if words}


def result_lines(setting: Setting) -> list[Line]:
    """Return the table of results: means over seeds, with their standard deviations.

    It is ranked by final accuracy, over the rounds in which all runs of the setting are measured.
    """
    measured, methods = setting.measured, setting.methods
    made = [_line(method, runs, measured) for method, runs in methods.items()]
    made.sort(key=lambda line: line.rank)
    unknown, _ = made[0].rank
    return [replace(line, is_first=not unknown and line.rank == made[0].rank) for line in made]


def reruns(setting: Setting, relative_to: Path | None = None) -> list[Rerun]:
    """Return how to run each method again, from the current folder or from ``relative_to``."""
    return [
        Rerun(
            method,
            f"flexcfl run {shlex.quote(str(_file(runs[0].path, relative_to)))}",
            _seeds(runs),
            runs[0].text,
        )
        for method, runs in setting.methods.items()
    ]


def _file(path: Path, relative_to: Path | None) -> Path:
    return (path if relative_to is None else path.relative_to(relative_to)) / EXPERIMENT


def _seeds(runs: Iterable[Record]) -> str:
    return ", ".join(str(run.seed) for run in runs)


def _line(method: str, runs: Sequence[Record], measured: Flags) -> Line:
    accuracies = [run.scored(measured) for run in runs]
    final = MeanDeviation.of(each.final for each in accuracies)
    sent = [_sum(run, "down_bytes") + _sum(run, "up_bytes") for run in runs]
    done, total = min(run.done for run in runs), runs[0].total
    return Line(
        method=method,
        seeds=_seeds(runs),
        rounds=str(total) if done == total else f"{done} of {total}",
        final=_accuracy(final),
        best=_accuracy(MeanDeviation.of(each.best for each in accuracies)),
        traffic=_mean(map(_relative, runs), "x{:.2f}"),
        megabytes=_mean(sent, "{:,.1f}", 1e-6),
        migrations=_mean((_sum(run, "migrated") for run in runs), "{:,.0f}"),
        rank=final.rank,
    )


def _sum(run: Record, column: str) -> float:
    return float(run.rounds[column].sum())


def _relative(run: Record) -> float | None:
    """Return the number of model transfers so far, as a multiple of FedAvg's."""
    fedavg = 2 * run.settings["run"]["cohort"] * run.done
    return _sum(run, "transfers") / fedavg if fedavg else None


def _mean(values: Iterable[float | None], form: str, scale: float = 1) -> str:
    mean = MeanDeviation.of(values).mean
    return UNKNOWN if mean is None else form.format(scale * mean)


def _accuracy(figure: MeanDeviation) -> str:
    """Return an accuracy in percent, with its standard deviation if there are several seeds."""
    values = [f"{100 * value:.1f}" for value in (figure.mean, figure.spread) if value is not None]
    return " ± ".join(values) or UNKNOWN


def _shift(tables: Tables) -> str:
    """Describe the shift, with a remark if no data are released in these rounds."""
    shift = tables.get("shift", {})
    chance = f", probability {shift['probability']}" if "probability" in shift else ""
    names = " and ".join(shift.get("name", [])) or "none"
    return f"{names}{chance}{_unreleased(shift.get('schedule'), tables['run']['rounds'])}"


def _unreleased(schedule: object, rounds: int) -> str:
    """Return a remark if data are released only after the last round; files may hold anything."""
    releases = schedule[1:2] if isinstance(schedule, list) else []
    later = [each.get("round") for each in releases if isinstance(each, dict)]
    idle = [number for number in later if isinstance(number, int) and number > rounds]
    return f" (nothing is released before round {idle[0]})" if idle else ""


def _examples(run: Record) -> str:
    labels = run.labels
    if not len(labels["client"]):
        return ""
    return f", {labels['train'].sum():,} training and {labels['test'].sum():,} test examples"


def _parameters(run: Record) -> str:
    number: object = run.summary.get("parameters") if run.summary else None  # may be anything
    return f", {number:,} parameters" if isinstance(number, int) else ""


def _versions(run: Record) -> str:
    versions: object = run.summary.get("versions") if run.summary else None
    pairs = versions.items() if isinstance(versions, dict) else ()
    return ", ".join(f"{name} {version}" for name, version in pairs if isinstance(version, str))


def _local(run: Record) -> str:
    local = run.settings["local"]
    length = f"{local['epochs']} epochs" if "epochs" in local else f"{local['steps']} steps"
    return f"{length}, mini-batches of {local['batch']}, rate {local['rate']}"


def _either(texts: Iterable[str]) -> str:
    """Return the distinct texts, joined with "or"."""
    return " or ".join(dict.fromkeys(filter(None, texts)))
