"""The paper's figures in its arrangement: which runs each consists of, and how it is drawn.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, the figures of Section 3.1 (motivation) and Section 5.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flexcfl.paper import published
from flexcfl.paper.cells import Part
from flexcfl.paper.drawing import Panel, curve, cut, grid, key, looks
from flexcfl.paper.methods import METHODS, Method, sharing
from flexcfl.paper.results import Result
from flexcfl.paper.rows import Row
from flexcfl.paper.sheet import Entry, Sheet
from flexcfl.paper.tables import SHIFTS, by_setting, figure, heading, score
from flexcfl.record.metrics import Figure as Mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    *("accuracy", "accuracy_parts", "eta", "eta_parts", "motivation", "overhead"),
    *("overhead_parts", "overhead_sheet", "shift", "shift_parts"),
]

COMPARED = ("fedavg", "fedprox", "ifca", "fesem", "flexcfl", "flexcfl-eta0.1")
RATES = (0.1, 1.0, 5.0, 10.0)  # the paper draws several without naming them, 0.1 and 5 among them
SHARING: Mapping[str, str] = {"mnist-mlp": "none", "femnist-mlp": "swap-part"}
COSTLY: Mapping[str, str] = {
    "mnist-mclr": "swap-all",
    "femnist-mlp": "swap-part",
    "fashion-mnist-cnn": "incremental",
}
SENDING = (
    *("fedavg", "fesem", "fesem-mig", "ifca", "ifca-mig", "fedgroup", "flexcfl"),
    "flexcfl-eta5",
)
PANELS = (
    Panel("accuracy", "accuracy in %", 100, settled=True),
    Panel("loss", "training loss", logarithmic=True),
    Panel("discrepancy", "discrepancy"),
)


def title(results: Sequence[Result]) -> str:
    """Return what a panel is of."""
    return ", ".join(heading(results))


def _rates() -> list[Method]:
    return [METHODS["flexcfl"], *map(sharing, RATES)]


def accuracy_parts(row: Row) -> list[Part]:
    """Return what is compared on MNIST, and on the MLP several rates of sharing."""
    more = _rates() if row.name in SHARING else []
    methods = [METHODS[name] for name in COMPARED] + more
    return [Part(row, method) for method in dict.fromkeys(methods)]


def shift_parts(row: Row) -> list[Part]:
    """Return the methods of Table 4 under its three shifts."""
    methods = published.UNDER_SHIFT[row.name]
    return [Part(row, METHODS[name], shift) for shift in SHIFTS for name in methods]


def eta_parts(row: Row) -> list[Part]:
    """Return FlexCFL with several rates of inter-group aggregation."""
    return [Part(row, method, SHARING[row.name]) for method in _rates()]


def overhead_parts(row: Row) -> list[Part]:
    """Return all methods, those with migration among them, under the shift of the figure."""
    return [Part(row, METHODS[name], COSTLY[row.name]) for name in SENDING]


def motivation(results: Sequence[Result]) -> "Figure":
    """Draw accuracy and discrepancy over rounds, by classes per client."""
    columns = by_setting(results)
    picture, axes = grid(1, len(columns))
    for place, found in enumerate(columns):
        left, right = axes[0][place], axes[0][place].twinx()
        curve(left, found, Panel("accuracy", "accuracy in %", 100), ("#000000", "-"))
        curve(right, found, Panel("discrepancy", "discrepancy"), ("#0072B2", "-"))
        left.set(title=title(found), xlabel="round", ylim=(50, 95))
        right.set(ylim=(0, 2.5))
        right.grid(visible=False)
        right.tick_params(axis="y", labelcolor="#0072B2")
        left.set_ylabel("accuracy in %" if place == 0 else "")
        right.set_ylabel("discrepancy" if found is columns[-1] else "", color="#0072B2")
    return picture


def accuracy(results: Sequence[Result]) -> "Figure":
    """Draw accuracy, loss and discrepancy on MNIST; the rates of sharing in a column of theirs."""
    names = set(COMPARED)
    columns = [[each for each in found if each.cell.part.method.name in names]
               for found in by_setting(results)]  # fmt: skip
    rates = [found for found in by_setting(results) if found[0].cell.part.row.name in SHARING]
    shares = {"flexcfl", *(sharing(rate).name for rate in RATES)}
    columns += [[each for each in found if each.cell.part.method.name in shares]
                for found in rates]  # fmt: skip
    return _columns([found for found in columns if found])


def eta(results: Sequence[Result]) -> "Figure":
    """Draw accuracy and loss with several rates of inter-group aggregation."""
    return _columns(by_setting(results), PANELS[:2])


def _columns(columns: Sequence[Sequence[Result]], panels: Sequence[Panel] = PANELS) -> "Figure":
    picture, axes = grid(len(panels), len(columns))
    for place, found in enumerate(columns):
        for number, panel in enumerate(panels):
            _draw(axes[number][place], found, panel, last=number == len(panels) - 1)
            axes[number][place].set_ylabel(panel.label if place == 0 else "")
        axes[0][place].set_title(title(found))
    key(picture)
    return picture


def shift(results: Sequence[Result]) -> "Figure":
    """Draw accuracy under each shift, one row of panels to a shift and a column to a data set."""
    columns: dict[tuple[str, int], list[list[Result]]] = {}
    for found in by_setting(results):
        columns.setdefault((found[0].cell.part.row.name, found[0].cell.rounds), []).append(found)
    picture, axes = grid(len(SHIFTS), len(columns))
    for place, settings in enumerate(columns.values()):
        for panel in axes[:, place]:
            panel.set_axis_off()  # until there is something in it
        for found in settings:
            number = SHIFTS.index(found[0].cell.part.shift)
            axes[number][place].set_axis_on()
            _draw(axes[number][place], found, PANELS[0], last=number == len(SHIFTS) - 1)
            axes[number][place].set_title(title(found))
            axes[number][place].set_ylabel(PANELS[0].label if place == 0 else "")
    key(picture)
    return picture


def _draw(axes: "Axes", results: Sequence[Result], panel: Panel, last: bool) -> None:
    for method, look in looks([result.cell.part.method for result in results]).items():
        mine = [result for result in results if result.cell.part.method.name == method]
        curve(axes, mine, panel, look, mine[0].cell.part.method.label)
    cut(axes, results, panel)
    axes.set_xlabel("round" if last else "")


def overhead(results: Sequence[Result]) -> "Figure":
    """Draw what each method sends in all rounds, with the accuracy that it reaches for it."""
    settings = by_setting(results)
    picture, axes = grid(len(settings), 1, width=7.4)
    for number, found in enumerate(settings):
        bars = axes[number][0]
        labels = []
        for place, (name, (colour, _)) in enumerate(
            looks([result.cell.part.method for result in found]).items()
        ):
            mine = [result for result in found if result.cell.part.method.name == name]
            sent, best = _transfers(mine), score(mine, "best")
            labels.append(mine[0].cell.part.method.label)
            bars.barh(place, sent.mean or 0, color=colour, height=0.7)
            text = f"x{sent.mean:.2f}, {best.mean:.1f} %" if best.mean else f"x{sent.mean:.2f}"
            bars.text((sent.mean or 0) + 0.05, place, text, va="center", size=9)
        bars.set(title=title(found), yticks=range(len(labels)), yticklabels=labels)
        bars.set_xlim(0, bars.get_xlim()[1] * 1.18)
        bars.invert_yaxis()
        bars.grid(visible=False, axis="y")
    axes[-1][0].set_xlabel("traffic: model transfers relative to FedAvg's, and best accuracy")
    return picture


def overhead_sheet(results: Sequence[Result]) -> Sheet:
    """Return transfers relative to FedAvg beside the paper's, with accuracies."""
    entries = []
    for found in by_setting(results):
        part = found[0].cell.part
        paper = published.TRANSFERS.get((part.row.name, part.shift), {})
        for name in dict.fromkeys(result.cell.part.method.name for result in found):
            mine = [result for result in found if result.cell.part.method.name == name]
            beside = {"accuracy, best": score(mine, "best"), "final": score(mine, "final")}
            label, sent = mine[0].cell.part.method.short, _transfers(mine)
            entries.append(Entry(heading(found), label, sent, paper.get(name), beside, 2))
    notes = (
        "Transfers of models in all rounds as a multiple of FedAvg's. Accuracies are in %; final "
        "is the mean of the last ten rounds.",
    )
    return Sheet("Communication under shift", entries, notes)


def _transfers(results: Sequence[Result]) -> Mean:
    return figure(results, lambda summary: summary["traffic"]["relative_to_fedavg"])
