"""The page on replicating the paper, docs/replication.md: its figures and verdicts are computed.

Its text is in ``replication.md.jinja``; everything that depends on a figure comes from here.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from jinja2 import Environment, StrictUndefined

from flexcfl.paper import published
from flexcfl.paper.catalogue import METHODS, ROWS, SHIFTS
from flexcfl.paper.own_tables import OURS
from flexcfl.paper.tables import shifted
from tools.claims import at, claims, label, rows, verdict
from tools.paper_text import averages, drops, speeds
from tools.runs import RESULTS, one, runs, seeds

__all__ = ["page"]

TEMPLATE = Path(__file__).with_name("replication.md.jinja")
NEAR = 2.2  # points
LESS = ("50 batches, then E - 1", "50 batches, then E epochs")  # the paper's newcomers, and ours
FROM_OWN = ("one epoch, then E - 1 from its own model", "one epoch, then E")


def page() -> str:
    """Return the page."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(TEMPLATE.read_text("utf-8")).render(_known())


def _known() -> Mapping[str, Any]:
    """Return the values that the template uses."""
    return {
        "rows": ", ".join(map(label, rows())),
        "claims": claims(),
        "averages": list(averages()),
        "speeds": list(speeds()),
        "drops": drops(),
        "near": _near(),
        "beyond": _beyond(),
        "short": "\n\n".join(_short()),
        "best": _best,
        "final": _final,
        "paper": _paper,
        "choice": _choice,
        "bound": _bound,
        "reason": _reason,
        "area": _area,
        "one": one,
        "points": _points,
        "faster": _faster,
        "seeds_of": _seeds_of,
        "moved": _moved,
        "control": _control,
        "ours": _ours,
        "reason_seeds": seeds(len({line["seed"] for line in _reasons()})),
        "changed": _changed,
        "less": LESS,
        "from_own": FROM_OWN,
    }


def _best(row: str, method: str, shift: str = "none") -> str:
    return one(at("best", row, method, shift))


def _final(row: str, method: str, shift: str = "none") -> str:
    return one(at("final", row, method, shift))


def _paper(row: str, method: str, shift: str = "none") -> str:
    return f"{published.accuracy(row, method, shift)}"


def _choice(method: str, row: str, shift: str = "none") -> str:
    return one(runs("choices").mean("best", row, method, shift))


def _area(row: str, method: str) -> float:
    return at("area", row, method)


def _points(row: str, method: str) -> str:
    return f"{100 * (at('best', row, method) - at('final', row, method)):.1f}"


def _faster(rival: str) -> str:
    """Return the rows in which FlexCFL is ahead of a rival by the area under its curve."""
    ahead = {label(row): _area(row, "flexcfl") > _area(row, rival) for row in rows()}
    return {"yes": "in every row", "no": "in no row"}.get(verdict(ahead), verdict(ahead))


def _seeds_of(target: str) -> str:
    """Return the number of seeds of a table's complete rows, and the rows with fewer seeds."""
    found = runs(target)
    numbers = {
        setting: len(found.figures("best", setting, found.methods(setting)[0]))
        for setting in found.rows()
    }
    most = max(numbers.values())
    fewer = [f"{setting} ({seeds(each)})" for setting, each in numbers.items() if each < most]
    return f"seeds 0 to {most - 1}" + (f" (fewer: {', '.join(fewer)})" if fewer else "")


def _near() -> Mapping[str, object]:
    """Return the number of accuracies of MNIST-MCLR that are close to the paper's."""
    row = "mnist-mclr"
    cells = [(method, shift) for shift in ("none", *SHIFTS)
             for method in runs("table3" if shift == "none" else "table4").methods(
                 row if shift == "none" else f"{row}-{shift}")]  # fmt: skip
    far = [
        METHODS[method].short
        for method, shift in cells
        if abs(100 * at("best", row, method, shift) - float(_paper(row, method, shift))) > NEAR
    ]
    others = " and ".join(f"{name} ({far.count(name)})" for name in dict.fromkeys(far))
    return {"total": len(cells), "within": len(cells) - len(far), "points": NEAR, "others": others}


def _moved(row: str) -> str:
    """Return the number of moves of FeSEM's clients, and the final size of its largest group."""
    moves, largest = (runs("table3").figures(column, row, "fesem")
                      for column in ("migrations", "largest_group"))  # fmt: skip
    sizes = ", ".join(f"{number:.0f}" for number in largest)
    times = f"{min(moves):.0f} to {max(moves):.0f} times"
    return f"clients move {times} in a run, and the largest of three groups has {sizes}"


def _bound(rate: str, epoch: str, what: str) -> str:
    with (RESULTS / "bound.csv").open(newline="", encoding="utf-8") as file:
        found = {tuple(line[:3]): line[3] for line in csv.reader(file)}
    return f"{float(found[rate, epoch, what]):.2g}"


def _reasons() -> list[Mapping[str, str]]:
    with (RESULTS / "reasons.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _reason(variant: str, row: str, method: str) -> str:
    """Return the best accuracy with a defect of the released code."""
    mine = (variant, row, method)
    return one(fmean(float(line["best"]) for line in _reasons()
                     if (line["variant"], line["row"], line["method"]) == mine))  # fmt: skip


def _changed(score: str, variants: tuple[str, str]) -> str:
    """Return the smallest and the largest margin of one variant over another, in points."""
    other, ours = variants
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for line in _reasons():
        mine = found.setdefault((line["row"], line["shift"]), {})
        mine.setdefault(line["variant"], []).append(100 * float(line[score]))
    more = [fmean(each[other]) - fmean(each[ours]) for each in found.values() if other in each]
    return f"{min(more):+.2f} to {max(more):+.2f}"


def _cells(shift: str) -> Iterator[tuple[str, str]]:
    yield from ((row, shift) for row in ROWS if _setting(row, shift) in runs("beyond").rows())


def _setting(row: str, shift: str) -> str:
    return row if shift == "none" else f"{row}-{shift}"


def _margin(column: str, row: str, shift: str, rivals: Sequence[str]) -> float:
    """Return the margin of our configuration over the best of its rivals, in points."""
    found = runs("beyond")
    most = max(rivals, key=lambda name: found.mean("best", row, name, shift))
    return 100 * (found.mean(column, row, OURS.name, shift) - found.mean(column, row, most, shift))


def _beyond() -> Mapping[str, object]:
    """Return the results of our configuration in the rows of both tables."""
    cells = [cell for shift in ("none", *SHIFTS) for cell in _cells(shift)]
    controls = [name for name in runs("beyond").methods("mnist-mclr") if "-groups" in name]
    tables = {
        (row, shift): [name for name in runs("beyond").methods(_setting(row, shift))
                       if name not in (*controls, OURS.name)]
        for row, shift in cells
    }  # fmt: skip
    best = [_margin("best", *cell, tables[cell]) for cell in cells]
    final = {cell: _margin("final", *cell, tables[cell]) for cell in cells}
    behind = [f"{label(row)} under {shift} by {-margin:.1f}"
              for (row, shift), margin in final.items() if margin < 0]  # fmt: skip
    beside = [_margin("best", *cell, controls) for cell in cells]
    sent = [
        runs("beyond").mean("relative_to_fedavg", row, OURS.name, shift) for row, shift in cells
    ]
    return {
        "rows": len(cells),
        "best": sum(margin > 0 for margin in best),
        "margins": f"{min(best):.1f} to {max(best):.1f}",
        "final": sum(margin > 0 for margin in final.values()),
        "behind": f" (behind on {', '.join(behind)})" if behind else "",
        "control": sum(margin > 0 for margin in beside),
        "traffic": f"{max(sent):.1f}",
    }


def _control(row: str, shift: str, groups: int) -> str:
    return one(runs("beyond").mean("best", row, f"ifca-groups{groups}", shift))


def _ours(row: str, shift: str) -> str:
    return one(runs("beyond").mean("best", row, OURS.name, shift))


def _short() -> Iterator[str]:
    """Yield the results of rows with fewer rounds."""
    lines = [*_short_of("table3"), *_short_of("table4")]
    if not lines:
        yield (
            "The tables have no convolutional row at present. 300 rounds of one method take 7 to "
            "16 minutes of two cores on MNIST and 33 to 75 on FEMNIST and FashionMNIST, and each "
            "row has 26 runs. They are made in pieces, `flexcfl reproduce table3 table4 --only "
            "mnist-cnn --for 150m`, which goes on with the next runs each time, and come in by "
            "`flexcfl reproduce merge`."
        )
        return
    yield (
        "These have fewer rounds than the paper's 300, as many as it takes until every client was "
        "seen and some more. They are no comparison of levels with the paper, and nothing is "
        "extrapolated. Best accuracies, over the rounds in which all methods are measured:"
    )
    yield "\n".join(["| | rounds | best |", "|---|---|---|", *lines])


def _short_of(target: str) -> Iterator[str]:
    found = runs(target)
    for setting, rounds in dict.fromkeys(
        (line["setting"], int(line["rounds"])) for line in found.lines if line["rounds"] != "300"
    ):
        row = next(name for name in ROWS if setting in (name, *(f"{name}-{s}" for s in SHIFTS)))
        shift = setting.removeprefix(row).removeprefix("-") or "none"
        told = {
            METHODS[name].short: found.mean("best", row, name, shift, rounds)
            for name in found.methods(setting, rounds)
        }
        first = min(found.figures("first_round", row, "flexcfl", shift, rounds))
        where = ", ".join([label(row), *shifted(shift, rounds)])
        figures = ", ".join(f"{name} {one(best)}" for name, best in told.items())
        yield f"| {where} | {first:.0f} to {rounds} | {figures} |"
