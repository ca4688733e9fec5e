"""Measurements on the pages: marked regions are filled from ``results``."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from statistics import fmean

from flexcfl.paper import published
from flexcfl.paper.catalogue import METHODS, NO_SHIFT, ROWS, SHIFTS
from flexcfl.paper.cells import TablePart
from flexcfl.paper.own_tables import ALGORITHMS, ALIKE
from flexcfl.record.tables import TABLES
from tools.runs import one, runs

__all__ = ["filled", "pages"]

ROOT = Path(__file__).resolve().parent.parent
REGION = re.compile(r"(<!-- measured: (.+?) -->\n).*?(<!-- end of measured -->)", re.DOTALL)
MNIST, SYNTHETIC = "mnist-mclr", "synthetic-mclr"
LABELS = {MNIST: "MNIST, logistic regression", SYNTHETIC: "Synthetic(1,1)"}
FRONT = ("flexcfl", "fedavg", "fedgroup", "ifca")
PEERS = {
    "plain PyTorch 2.13.0 loop over clients, 1 thread": "PyTorch loop",
    "FedJAX 0.0.17": "FedJAX",
    "Flower 1.41.0 simulation (Ray)": "Flower simulation",
}
STEPS = ROOT / "benchmarks" / "results.md"
MOVING_METHODS = ("fedavg", "fedgroup", "flexcfl", "ifca", "ifca-mig", "fesem")
STATIC_METHODS = ("fedavg", "fedprox", "flexcfl", "flexcfl-rcc", "flexcfl-rac", "ifca", "fesem",
                 "cfl", "flhc")  # fmt: skip


def pages() -> Mapping[Path, Callable[[], str]]:
    """Return, by path, the function that makes each page with regions."""
    docs = (ROOT / "docs").rglob("*.md")
    written = [path for path in docs if REGION.search(path.read_text("utf-8"))]
    paths = [ROOT / "README.md", *sorted(written)]
    return {path: partial(_page, path) for path in paths}


def _page(path: Path) -> str:
    return filled(path.read_text("utf-8"))


def filled(text: str) -> str:
    """Return a page with its regions filled."""
    return REGION.sub(lambda found: f"{found[1]}{_region(found[2])}\n{found[3]}", text)


def _region(words: str) -> str:
    name, *arguments = words.split()
    return "\n".join(REGIONS[name](*arguments))


def _figures(column: str, row: str, method: str, shift: str) -> list[float]:
    part = TablePart(ROWS[row], METHODS[method], shift).choosing(ALIKE)
    return runs("algorithms").figures(column, row, part.name, shift)


def _mean(column: str, row: str, method: str, shift: str = NO_SHIFT) -> float:
    return fmean(_figures(column, row, method, shift))


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(line)} |" for line in lines)


def _bracketed(row: str, method: str, shift: str) -> str:
    """Return our best accuracy, with the paper's in brackets if it has one."""
    paper = published.accuracy(row, method, shift)
    ours = one(_mean("best", row, method, shift))
    return ours if paper is None else f"{ours} ({paper})"


def _label(method: str) -> str:
    return METHODS[method].short


def front() -> Iterator[str]:
    """Yield accuracies, ours and the paper's, and client steps, ours and other simulators'."""
    lines = []
    for name in FRONT:
        paper = published.accuracy(MNIST, name, "swap-all")
        ours = one(_mean("best", MNIST, name, "swap-all"))
        lines += [
            [f"accuracy, MNIST, clients swap data: {_label(name)}", f"{ours} %", f"paper {paper} %"]
        ]
    steps = _steps()
    for column, model in ((1, "logistic regression"), (3, "MNIST CNN")):
        others = ", ".join(f"{label} {steps[name][column]}" for name, label in PEERS.items())
        ours = steps["flexcfl 0.1.0, all cores"][column]
        lines += [[f"microseconds a step: {model}", ours, others]]
    yield from _table(["", "flexcfl", "compared with"], lines)


def _steps() -> Mapping[str, Sequence[str]]:
    """Return the time of a client step by simulator, from the results of the benchmark."""
    table, *_ = STEPS.read_text("utf-8").split("How many of the probe")
    lines = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| ")]
    return {
        name.strip(): ["", *(each.split("(")[0].strip() for each in rest)] for name, *rest in lines
    }


def moving() -> Iterator[str]:
    """Yield final accuracy under each shift, and the traffic under swap-all."""
    head = ["", *map(_label, MOVING_METHODS)]
    lines = [
        [f"`{shift}`", *(one(_mean("final", MNIST, name, shift)) for name in MOVING_METHODS)]
        for shift in SHIFTS
    ]
    best = [
        [f"`{shift}`, best (paper)", *(_bracketed(MNIST, name, shift) for name in MOVING_METHODS)]
        for shift in SHIFTS
    ]
    sent = [_mean("relative_to_fedavg", MNIST, name, "swap-all") for name in MOVING_METHODS]
    yield from _table(head, [*lines, *best, ["traffic", *(f"x{each:.2f}" for each in sent)]])


def static() -> Iterator[str]:
    """Yield accuracies without a shift."""
    lines = [
        ["final", *(one(_mean("final", MNIST, name)) for name in STATIC_METHODS)],
        ["best (paper)", *(_bracketed(MNIST, name, NO_SHIFT) for name in STATIC_METHODS)],
    ]
    yield from _table(["", *map(_label, STATIC_METHODS)], lines)


def every(row: str, shift: str) -> Iterator[str]:
    """Yield all methods on a row under a shift, seed by seed."""
    head = ["algorithm", "final, by seed", "mean", "best, by seed", "mean", "paper", "traffic"]
    head += ["detected", "migrated"]
    yield from _table(head, [_line(row, name, shift) for name in _known(row)])


def _known(row: str) -> list[str]:
    refused = {name for name, paper in published.ACCURACY[row].items() if paper is None}
    return [name for name in ALGORITHMS if name not in refused]


def _line(row: str, method: str, shift: str) -> list[str]:
    algorithm = METHODS[method].algorithm
    plain = algorithm == method
    cells = [f"[`{method}`]({method}.md)" if plain else f"`{algorithm}`, {_label(method)}"]
    for column in ("final", "best"):
        figures = _figures(column, row, method, shift)
        cells += [" / ".join(map(one, figures)), one(fmean(figures))]
    paper = published.accuracy(row, method, shift)
    cells += ["" if paper is None else f"{paper}"]
    cells += [f"x{_mean('relative_to_fedavg', row, method, shift):.2f}"]
    return cells + [
        f"{_mean(name, row, method, shift):,.0f}" for name in ("detected", "migrations")
    ]


def of_method(method: str) -> Iterator[str]:
    """Yield a list of one method's accuracies, by row and shift."""
    for row in (MNIST, SYNTHETIC):
        if method in _known(row):
            for shift in (NO_SHIFT, *SHIFTS):
                yield _method_line(row, method, shift)


def _method_line(row: str, method: str, shift: str) -> str:
    where = f"{LABELS[row]}, {'no shift' if shift == NO_SHIFT else shift}"
    words = []
    for column in ("final", "best"):
        figures = _figures(column, row, method, shift)
        words += [f"{column} {one(fmean(figures))} ({', '.join(map(one, figures))})"]
    paper = published.accuracy(row, method, shift)
    words += [] if paper is None else [f"paper's best {paper}"]
    words += [f"traffic x{_mean('relative_to_fedavg', row, method, shift):.2f}"]
    moves = _mean("migrations", row, method, shift)
    words += [f"{moves:,.0f} migrations"] if moves else []
    return f"- {where}: {', '.join(words)}."


def sent(row: str, shift: str, *methods: str) -> Iterator[str]:
    """Yield the traffic of some methods, with their accuracies."""
    lines = [
        [_label(name), f"x{_mean('relative_to_fedavg', row, name, shift):.2f}"]
        + [one(_mean(column, row, name, shift)) for column in ("final", "best")]
        for name in methods
    ]
    yield from _table(["", "traffic", "final", "best"], lines)


def columns() -> Iterator[str]:
    """Yield every column of the tables that grow with a run, with its meaning."""
    for name, table in TABLES.items():
        equal = "" if table.reproducible else "; not the same when the run is repeated"
        yield f"**`{name}`**: {table.meaning}{equal}.\n"
        meanings = [[f"`{each.name}`", each.metadata["meaning"]] for each in fields(table.row)]
        yield from _table(["column", "meaning"], meanings)
        yield ""


REGIONS: Mapping[str, Callable[..., Iterator[str]]] = {
    "front": front,
    "moving": moving,
    "static": static,
    "every": every,
    "method": of_method,
    "sent": sent,
    "columns": columns,
}
