"""The pictures of the documentation, drawn from runs that this script makes.

Example: python tools/pictures.py --only clustering,migration
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from numpy.typing import NDArray
from rich.console import Console

import flexcfl
from flexcfl.clustering import cluster
from flexcfl.data import load_federation
from flexcfl.paper.drawing import STYLE
from flexcfl.protocol import Ids, Local, Train, Vectors
from flexcfl.record.record import group_matrix, shift_marks
from flexcfl.report.charts.palette import COLOURS, NEUTRAL, group_colour
from flexcfl.shifts import Timeline
from flexcfl.simulation import Simulation

DOCS = Path(__file__).parent.parent / "docs"
IMAGES = DOCS / "images"
WIDTH = 9.4  # inches: about 900 pixels
SEEDS = 3
NUMBERS = (1, 2, 3, 4, 5, 6, 8, 10, 12)  # of groups
SHAPES = ("o", "s", "^", "D", "v")  # of true clusters
METHODS = ("fedavg", "fedgroup", "ifca", "flexcfl")
COLOUR = dict(zip(METHODS, (COLOURS[0], COLOURS[1], COLOURS[4], COLOURS[2]), strict=True))
FRONT = {
    "flexcfl": "FlexCFL: drifted clients migrate",
    "fedavg": "FedAvg: one model for all",
    "ifca": "IFCA: choice in each round",
    "fedgroup": "FedGroup: fixed groups",
}
FOUNDERS = 50
BLOCK = re.compile(r'^```python(?: title="([^"\n]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)


def clustering(figure: Figure) -> None:
    """Draw founders as points by group and true cluster, and the effect of the number of groups."""
    left, *others = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    _points(left)
    for axes, dataset, kinds in zip(others, ("clusters", "digits"), (3, 10), strict=True):
        accuracy = [_final(dataset, groups) for groups in NUMBERS]
        axes.plot(NUMBERS, accuracy, "o-", color=COLOURS[0])
        axes.axvline(kinds, color=NEUTRAL, linestyle=":")
        axes.set(xlabel="number of groups", xticks=NUMBERS)
        axes.set_title(f"{dataset}: {kinds} kinds of clients", size=10)
    others[0].set_ylabel("final accuracy in %")


def _points(axes: Axes) -> None:
    run = flexcfl.run(dataset="clusters", groups=3, rounds=1, shift="none")
    found, kinds = run.clustering, load_federation("clusters").structure
    assert found is not None
    assert kinds is not None
    for kind in range(3):
        for group in range(found.groups):
            chosen = (kinds[found.clients] == kind) & (found.group_of == group)
            x, y = found.embedding[chosen, :2].T
            label = f"true cluster {kind}, in group {group}" if chosen.any() else None
            axes.plot(x, y, SHAPES[kind], color=group_colour(group), alpha=0.75, label=label)
    axes.set(xlabel="cosine to the first direction", ylabel="cosine to the second direction")
    axes.legend(frameon=False, fontsize=9)
    axes.set_title(f"{len(found.clients)} founders' updates as points", size=10)


def _final(dataset: str, groups: int) -> float:
    runs = [
        flexcfl.run(
            dataset=dataset,
            groups=groups,
            rounds=60,
            shift="none",
            seed=seed,
            set={"algorithm.alpha": 10, "algorithm.most_groups": max(NUMBERS)},
        )
        for seed in range(2)
    ]
    return 100 * float(np.mean([run.accuracy.final or np.nan for run in runs]))


@dataclass(frozen=True, eq=False)
class Cosines:
    """The cosines of newcomers (rows) to the groups' directions, sorted by the chosen group."""

    values: NDArray[np.float64]
    chosen: Ids


@cache
def _cold_start(groups: int = 5) -> Cosines:
    """Let half of the clients of digits found groups, and place the others."""
    federation = load_federation("digits")
    run = flexcfl.run(dataset="digits", rounds=1, shift="none")
    rng = np.random.default_rng(0)
    ids = np.arange(federation.clients)
    local = Local(steps=50, rate=run.experiment.local.rate)
    world = Simulation(run.engine, Timeline(federation), seed=0).at(0)
    start = run.engine.initial(rng)[np.newaxis]
    updates = world(Train(ids, start, np.zeros_like(ids), local, "cold-start")).updates
    founders = np.sort(rng.permutation(ids)[:FOUNDERS])
    found = cluster(founders, updates[founders], groups, "edc", rng)
    directions = np.stack(
        [updates[founders[found.group_of == group]].mean(axis=0) for group in range(groups)]
    )
    return _aligned(updates[np.setdiff1d(ids, founders)], directions)


def _aligned(updates: Vectors, directions: Vectors) -> Cosines:
    ours, theirs = (each / np.linalg.norm(each, axis=1)[:, None] for each in (updates, directions))
    values = (ours @ theirs.T).astype(np.float64)
    order = np.lexsort((-values.max(axis=1), values.argmax(axis=1)))
    return Cosines(values[order], values[order].argmax(axis=1))


def cold_start(figure: Figure) -> None:
    """Draw newcomers' cosines to every direction, and the methods' traffic after each round."""
    left, right = figure.subplots(1, 2)
    cosines = _cold_start()
    clients, groups = cosines.values.shape
    shades = left.imshow(cosines.values, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    left.plot(cosines.chosen, np.arange(clients), ".", color="#1B1B1B", markersize=4)
    left.set(
        xticks=range(groups), yticks=[], xlabel="direction of group", ylabel=f"{clients} newcomers"
    )
    left.grid(visible=False)
    left.set_title("Cosine of each newcomer's update; a dot where it joins", size=10)
    figure.colorbar(shades, ax=left)
    for name in ("fedavg", "flexcfl", "ifca"):
        run = flexcfl.run(dataset="digits", algorithm=name, shift="none", rounds=60)
        sent = np.cumsum(run.rounds["transfers"])
        right.plot(run.rounds["round"], sent, color=COLOUR[name], label=name)
        right.text(61, sent[-1], name, color=COLOUR[name], va="center")
    right.set(xlabel="round", ylabel="models sent so far", xlim=(0, 72))
    right.set_title("digits, 100 clients, 5 groups, 20 clients a round", size=10)


@cache
def _swapped(algorithm: str, seed: int) -> flexcfl.Run:
    cohorts = {"run.cohorts": "round-robin-then-uniform"}
    return flexcfl.run(algorithm=algorithm, shift="swap-all", rounds=60, seed=seed, set=cohorts)


def _swapped_curves() -> dict[str, NDArray[np.float64]]:
    return {
        name: np.stack([_swapped(name, seed).rounds["accuracy"] for seed in range(SEEDS)])
        for name in METHODS
    }


def front(figure: Figure) -> None:
    """Draw the same accuracies with labels that need no caption."""
    axes = figure.subplots()
    curves = {FRONT[name]: each for name, each in _swapped_curves().items()}
    colours = {FRONT[name]: colour for name, colour in COLOUR.items()}
    _curves(axes, curves, colours, lowest=50, room=21)
    axes.set_title("Accuracy in % while 100 clients keep swapping their data", loc="left")
    axes.set(ylabel="", xlabel="training round")


def migration(figure: Figure) -> None:
    """Draw accuracies while clients exchange their data."""
    axes = figure.subplots()
    _curves(axes, _swapped_curves(), COLOUR, lowest=50, room=6)
    axes.set_title("digits under swap-all; mean, lowest and highest of three seeds", size=10)


def moves(figure: Figure) -> None:
    """Draw every client's group over time, without and with migration."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, name in zip(panels, ("fedgroup", "flexcfl"), strict=True):
        record = _swapped(name, 0)
        groups = group_matrix(record)
        order = np.lexsort(groups[:, :0:-1].T)  # by the first group, then by those that followed
        colours = ListedColormap(["#FFFFFF", *(group_colour(group) for group in range(5))])
        axes.imshow(
            groups[order], cmap=colours, vmin=-1, vmax=4, aspect="auto", interpolation="nearest"
        )
        for number, clients in enumerate(shift_marks(record)):
            rows = np.flatnonzero(np.isin(order, clients))
            axes.plot(np.full(len(rows), number), rows, ".", color="#FFFFFF", markersize=3)
        axes.grid(visible=False)
        axes.set(xlabel="round", yticks=[])
        axes.set_title(f"{name}: {record.rounds['migrated'].sum():.0f} moves", size=10)
    panels[0].set_ylabel("100 clients, coloured by group")


def _curves(
    axes: Axes,
    curves: Mapping[str, NDArray[np.float64]],
    colours: Mapping[str, str],
    lowest: float,
    room: float,
    gap: float = 0.06,
) -> None:
    """Draw the mean over seeds with a band, and the name of each method at the end of its line."""
    ends = {name: 100 * float(each[:, -1].mean()) for name, each in curves.items()}
    heights = apart(ends, gap=gap * (100 - lowest))
    for name, each in curves.items():
        seen = np.flatnonzero(~np.isnan(each).any(axis=0))
        values = 100 * each[:, seen]
        axes.fill_between(seen + 1, values.min(0), values.max(0), color=colours[name], alpha=0.15)
        axes.plot(seen + 1, values.mean(0), color=colours[name])
        axes.text(each.shape[1] + 1, heights[name], name, color=colours[name], va="center")
    rounds = max(each.shape[1] for each in curves.values())
    axes.set(
        xlabel="round", ylabel="accuracy in %", ylim=(lowest, 100.5), xlim=(0, 1.02 * rounds + room)
    )
    axes.set_xticks(range(0, rounds + 1, 10))


def apart(ends: Mapping[str, float], gap: float) -> dict[str, float]:
    """Return heights for the names that keep them apart."""
    heights: dict[str, float] = {}
    reached = -np.inf
    for name in sorted(ends, key=lambda each: ends[each]):
        reached = heights[name] = max(ends[name], reached + gap)
    return heights


def tutorial(figure: Figure) -> None:
    """Draw the experiment of the tutorial, from runs of its own code."""
    results = _page(DOCS / "tutorial.md", after="## 4.", until="### Where it ends")["results"]
    curves = {
        name: np.stack([run.rounds["accuracy"] for run in runs]) for name, runs in results.items()
    }
    colours = {**COLOUR, "flexcfl label-share": COLOURS[3], "flexcfl mmd": COLOUR["flexcfl"]}
    # They are the same to the last digit, so only one line would be visible.
    assert (curves.pop("flexcfl label-share") == curves["fedgroup"])[:, 10:].all()
    curves["fedgroup, and flexcfl\nwith label-share"] = curves.pop("fedgroup")
    colours["fedgroup, and flexcfl\nwith label-share"] = colours["fedgroup"]
    axes = figure.subplots()
    _curves(axes, curves, colours, lowest=50, room=16)
    for number in (20, 40, 60):
        axes.axvline(number, color=NEUTRAL, linestyle=":", linewidth=1)
    axes.set_title("Scanners that are mounted in another way from time to time", size=10)


def _page(page: Path, after: str, until: str) -> dict[str, Any]:
    """Run the Python blocks of a part of a page, in a temporary folder."""
    text = page.read_text("utf-8")
    part = text[text.index(after) : text.index(until)]
    space: dict[str, Any] = {"__name__": "page", "np": np, "flexcfl": flexcfl}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(None):
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            for title, code in BLOCK.findall(part):
                if title:
                    Path(title).write_text(code, "utf-8")
                else:
                    exec(compile(code, str(page), "exec"), space)
        finally:
            sys.path.remove(folder)
            os.chdir(before)
    return space


def protocol(figure: Figure) -> None:
    """Draw an algorithm that talks to one executor or the other."""
    axes = figure.subplots()
    axes.set(xlim=(0, 100), ylim=(0, 46))
    axes.axis("off")
    about = "a generator over flat\nvectors: no data,\nno network, no files"
    _box(axes, (1, 15, 22, 16), "algorithm", about, 0)
    _box(axes, (57, 26, 41, 18), "simulation", "one process, all clients at once", 2)
    _box(axes, (57, 2, 41, 18), "Flower", "a message to each node, with TLS", 1)
    for x, y in [(59.5 + 6.2 * place, base) for place in range(6) for base in (29, 5)]:
        axes.add_patch(_rounded((x, y, 4.6, 5), "#FFFFFF", NEUTRAL))
        axes.text(x + 2.3, y + 2.5, "data", size=7, ha="center", va="center")
    _arrow(axes, (24.5, 27), (53, 27), "orders: train, place,\ncheck for drift, migrate ...", 31)
    _arrow(axes, (53, 19), (24.5, 19), "replies: updates, groups,\nverdicts, hits ...", 15)
    axes.plot((56, 54.5, 54.5, 56), (40, 40, 6, 6), color="#1B1B1B", linewidth=1)
    axes.text(77.5, 23, "or", ha="center", va="center", style="italic")


Box = tuple[float, float, float, float]


def _rounded(box: Box, face: str, edge: str) -> FancyBboxPatch:
    x, y, width, height = box
    return FancyBboxPatch(
        (x, y),
        width,
        height,
        boxstyle="round,pad=0.3,rounding_size=1",
        facecolor=face,
        edgecolor=edge,
    )


def _box(axes: Axes, box: Box, title: str, text: str, colour: int) -> None:
    x, y, width, height = box
    axes.add_patch(_rounded(box, "#F7F8FA", COLOURS[colour]))
    axes.text(x + width / 2, y + height - 2.6, title, weight="bold", ha="center", va="center")
    axes.text(x + width / 2, y + height - 5.5, text, size=9, ha="center", va="top")


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str, height: float
) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#1B1B1B"})
    axes.text((start[0] + end[0]) / 2, height, text, size=9, ha="center", va="center")


@dataclass(frozen=True)
class Picture:
    """The function that draws a picture, its height in inches, and its title for screen readers."""

    draw: Callable[[Figure], None]
    height: float
    title: str


PICTURES: Mapping[str, Picture] = {
    "front": Picture(front, 4.0, "FlexCFL stays accurate while clients swap data; others fall"),
    "clustering": Picture(clustering, 3.9, "Founders' updates as points; the number of groups"),
    "cold-start": Picture(cold_start, 4.0, "Newcomers' cosines to the groups; models sent"),
    "migration": Picture(migration, 3.9, "Accuracy of four methods under swap-all"),
    "group-moves": Picture(moves, 4.4, "Every client's group over time"),
    "protocol": Picture(protocol, 3.6, "One algorithm, two executors"),
    "tutorial": Picture(tutorial, 4.2, "Accuracy of five methods under maintenance"),
}


def save(name: str, folder: Path) -> Path:
    """Draw a picture and write it; the same runs give the same bytes."""
    picture = PICTURES[name]
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(WIDTH, picture.height), layout="constrained")
        picture.draw(figure)
        path = folder / f"{name}.svg"
        figure.savefig(path, format="svg", metadata={"Date": None, "Title": picture.title})
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the requested pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help=f"names, with commas, of {', '.join(PICTURES)}")
    parser.add_argument("--out", type=Path, default=IMAGES, help="the folder to write into")
    asked = parser.parse_args(arguments)
    names = asked.only.split(",") if asked.only else list(PICTURES)
    if strange := set(names) - set(PICTURES):
        parser.error(f"there is no picture {sorted(strange)[0]}: take one of {', '.join(PICTURES)}")
    for name in names:
        path = save(name, asked.out)
        Console().print(f"{path} ({path.stat().st_size / 1000:.0f} kB)", soft_wrap=True)


if __name__ == "__main__":
    main()
