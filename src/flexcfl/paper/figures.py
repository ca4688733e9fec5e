"""The paper's figures, arranged as there: the runs of each, and how it is drawn.

They are the figures of Section 3.1 (motivation) and Section 5.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flexcfl.paper import published
from flexcfl.paper.catalogue import METHODS, SHIFTS, PaperRow, sharing
from flexcfl.paper.cells import TablePart
from flexcfl.paper.comparison_table import ComparisonTable, Entry
from flexcfl.paper.drawing import LOOKS, Panel, curve, grid, legend, limit_to_late
from flexcfl.paper.results import Result, group_by
from flexcfl.paper.tables import by_method, by_setting, figure, heading, score
from flexcfl.record.metrics import MeanDeviation as Mean
from flexcfl.report.charts.palette import BLACK, BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPARED = ("fedavg", "fedprox", "ifca", "fesem", "flexcfl", "flexcfl-eta0.1")
RATES = (0.1, 1.0, 5.0, 10.0)  # the paper draws several without naming them, including 0.1 and 5
EVERY_RATE = (METHODS["flexcfl"], *map(sharing, RATES))
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


def _title(results: Sequence[Result]) -> str:
    return ", ".join(heading(results))


def accuracy_parts(row: PaperRow) -> list[TablePart]:
    """Return the methods compared on MNIST, and for the MLP also several rates of sharing."""
    more = EVERY_RATE if row.name in SHARING else ()
    methods = dict.fromkeys([*(METHODS[name] for name in COMPARED), *more])
    return [TablePart(row, method) for method in methods]


def eta_parts(row: PaperRow) -> list[TablePart]:
    """Return FlexCFL with several rates of inter-group aggregation."""
    return [TablePart(row, method, SHARING[row.name]) for method in EVERY_RATE]


def overhead_parts(row: PaperRow) -> list[TablePart]:
    """Return all methods, including those with migration, under the shift of the figure."""
    return [TablePart(row, METHODS[name], COSTLY[row.name]) for name in SENDING]


def motivation(results: Sequence[Result]) -> "Figure":
    """Draw accuracy and discrepancy over rounds, by classes per client."""
    columns = by_setting(results)
    picture, axes = grid(1, len(columns))
    for position, found in enumerate(columns):
        left, right = axes[0][position], axes[0][position].twinx()
        curve(left, found, PANELS[0], (BLACK, "-"))
        curve(right, found, PANELS[2], (BLUE, "-"))
        left.set(title=_title(found), xlabel="round", ylim=(50, 95))
        right.set(ylim=(0, 2.5))
        right.grid(visible=False)
        right.tick_params(axis="y", labelcolor=BLUE)
        left.set_ylabel("accuracy in %" if position == 0 else "")
        right.set_ylabel("discrepancy" if found is columns[-1] else "", color=BLUE)
    return picture


def accuracy(results: Sequence[Result]) -> "Figure":
    """Draw accuracy, loss and discrepancy on MNIST; the rates of sharing have their own column."""
    settings = by_setting(results)
    rates = {method.name for method in EVERY_RATE}
    columns = [_of(found, set(COMPARED)) for found in settings]
    columns += [_of(found, rates) for found in settings if found[0].cell.part.row.name in SHARING]
    return _columns([found for found in columns if found])


def _of(results: Sequence[Result], methods: set[str]) -> list[Result]:
    return [result for result in results if result.cell.part.method.name in methods]


def eta(results: Sequence[Result]) -> "Figure":
    """Draw accuracy and loss with several rates of inter-group aggregation."""
    return _columns(by_setting(results), PANELS[:2])


def _columns(columns: Sequence[Sequence[Result]], panels: Sequence[Panel] = PANELS) -> "Figure":
    picture, axes = grid(len(panels), len(columns))
    for position, found in enumerate(columns):
        for number, panel in enumerate(panels):
            _draw(axes[number][position], found, panel, last=number == len(panels) - 1)
            axes[number][position].set_ylabel(panel.label if position == 0 else "")
        axes[0][position].set_title(_title(found))
    legend(picture)
    return picture


def shift(results: Sequence[Result]) -> "Figure":
    """Draw accuracy under each shift, with a row of panels per shift and a column per dataset."""
    columns = group_by(
        by_setting(results), lambda found: (found[0].cell.part.row.name, found[0].cell.rounds)
    )
    picture, axes = grid(len(SHIFTS), len(columns))
    for position, settings in enumerate(columns.values()):
        for panel in axes[:, position]:
            panel.set_axis_off()  # until a curve is drawn in it
        for found in settings:
            number = SHIFTS.index(found[0].cell.part.shift)
            axes[number][position].set_axis_on()
            _draw(axes[number][position], found, PANELS[0], last=number == len(SHIFTS) - 1)
            axes[number][position].set_title(_title(found))
            axes[number][position].set_ylabel(PANELS[0].label if position == 0 else "")
    legend(picture)
    return picture


def _draw(axes: "Axes", results: Sequence[Result], panel: Panel, last: bool) -> None:
    for mine in by_method(results):
        method = mine[0].cell.part.method
        curve(axes, mine, panel, LOOKS[method.name], method.label)
    limit_to_late(axes, results, panel)
    axes.set_xlabel("round" if last else "")


def overhead(results: Sequence[Result]) -> "Figure":
    """Draw the traffic of each method over all rounds, with the accuracy that it reaches."""
    settings = by_setting(results)
    picture, axes = grid(len(settings), 1, width=7.4)
    for found, (bars,) in zip(settings, axes, strict=True):
        labels = []
        for position, mine in enumerate(by_method(found)):
            method = mine[0].cell.part.method
            sent, best = _transfers(mine), score(mine, "best")
            labels.append(method.label)
            bars.barh(position, sent.mean or 0, color=LOOKS[method.name][0], height=0.7)
            text = f"x{sent.mean:.2f}, {best.mean:.1f} %" if best.mean else f"x{sent.mean:.2f}"
            bars.text((sent.mean or 0) + 0.05, position, text, va="center", size=9)
        bars.set(title=_title(found), yticks=range(len(labels)), yticklabels=labels)
        bars.set_xlim(0, bars.get_xlim()[1] * 1.18)
        bars.invert_yaxis()
        bars.grid(visible=False, axis="y")
    axes[-1][0].set_xlabel("traffic: model transfers relative to FedAvg's, and best accuracy")
    return picture


def overhead_table(results: Sequence[Result]) -> ComparisonTable:
    """Return transfers relative to FedAvg, ours and the paper's, with accuracies."""
    entries = []
    for found in by_setting(results):
        for mine in by_method(found):
            part = mine[0].cell.part
            paper = published.TRANSFERS.get((part.row.name, part.shift), {}).get(part.method.name)
            beside = {"accuracy, best": score(mine, "best"), "final": score(mine, "final")}
            entry = Entry(
                heading(found), part.method.short, _transfers(mine), paper, beside, digits=2
            )
            entries.append(entry)
    note = (
        "Transfers of models in all rounds as a multiple of FedAvg's. Accuracies are in %; final "
        "is the mean of the last ten rounds."
    )
    return ComparisonTable("Communication under shift", entries, (note,))


def _transfers(results: Sequence[Result]) -> Mean:
    return figure(results, lambda summary: summary["traffic"]["relative_to_fedavg"])
