"""The paper's Tables 1 to 4: the runs of each, and the figures that it shows."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from flexcfl.paper import published
from flexcfl.paper.catalogue import CLASSES, METHODS, NO_SHIFT, ROUNDS, SHIFTS, PaperRow, motivation
from flexcfl.paper.cells import Cell, TablePart
from flexcfl.paper.comparison_table import ComparisonTable, Entry
from flexcfl.paper.results import Result, group_by
from flexcfl.record.metrics import MeanDeviation
from flexcfl.record.summary import Summary
from flexcfl.runner.prepare import prepare
from flexcfl.shifts import Incremental

READING = (
    "Accuracy in %: ours is the maximum over rounds, which is the paper's score and by which the "
    "best of a row is marked, as mean and standard deviation over the seeds; final is the mean of "
    "the last ten rounds, because the maximum flatters methods that fluctuate. Both are over the "
    "rounds in which every method of the row is measured. RCC and RAC are FlexCFL with random "
    "centres and with random placement, eta_g is FlexCFL with inter-group aggregation at that rate."
)
SYNTHETIC = (
    "Of Synthetic(1,1) no seed is known that gives the paper's number of examples; ours has seed 0."
)
QUARTER = "a quarter of the data"  # clients have only this until the shift releases more


def table1_parts(_row: PaperRow) -> list[TablePart]:
    """Return FedAvg on MNIST with 1, 3, 5 and 10 classes per client."""
    return [TablePart(motivation(classes), METHODS["fedavg"]) for classes in CLASSES]


def table3_parts(row: PaperRow) -> list[TablePart]:
    """Return eight methods on a row, without those for which the paper has no figure."""
    known = published.ACCURACY[row.name]
    # With 100 clients all would be founders, and no client would be left to place at random.
    return [TablePart(row, METHODS[name]) for name, figure in known.items() if figure is not None]


def table4_parts(row: PaperRow) -> list[TablePart]:
    """Return six methods on a row under each of three shifts."""
    methods = published.UNDER_SHIFT[row.name]
    return [TablePart(row, METHODS[name], shift) for shift in SHIFTS for name in methods]


def table1(results: Sequence[Result]) -> ComparisonTable:
    """Return the discrepancy and the accuracy by the number of classes per client."""
    entries = [entry for found in by_setting(results) for entry in _motivation(found)]
    title = "Table 1: FedAvg on MNIST-MCLR, E = 20, by classes per client"
    note = (
        "Discrepancy is Equation 3, over all rounds; accuracies are in %, and final is the mean of "
        "the last ten rounds."
    )
    return ComparisonTable(title, entries, (note,))


def _motivation(results: Sequence[Result]) -> Iterator[Entry]:
    classes = int(str(results[0].cell.part.row.settings["data.classes_per_client"]))
    paper, block = published.MOTIVATION[classes], heading(results)
    last = {"final": score(results, "final")}
    mean = figure(results, lambda summary: summary["discrepancy"]["mean"])
    variance = figure(results, lambda summary: summary["discrepancy"]["variance"])
    rounds = figure(results, lambda summary: summary["rounds_to"]["0.85"])
    yield Entry(block, "discrepancy, mean", mean, paper[0], {}, 3)
    yield Entry(block, "variance", variance, paper[1], {}, None)
    yield Entry(block, "accuracy, max", score(results, "best"), paper[2], last)
    yield Entry(block, "median", score(results, "median"), paper[3])
    yield Entry(block, "rounds to 85 %", rounds, paper[4], {}, 0)


def table2(rows: Sequence[PaperRow], data: Path | None) -> ComparisonTable:
    """Load every federation with its model, and count clients, examples and parameters."""
    entries = []
    for row in rows:
        prepared = prepare(Cell(TablePart(row, METHODS["fedavg"]), data=data).experiment)
        federation = prepared.federation
        examples = int(federation.train.offsets[-1] + federation.test.offsets[-1])
        counts = (federation.clients, examples, prepared.engine.parameters)
        names = ("clients", "examples", "parameters")
        for name, ours, paper in zip(names, counts, published.SIZES[row.name], strict=True):
            entries.append(Entry((row.label,), name, MeanDeviation(ours, None), paper, {}, 0))
    return ComparisonTable("Table 2: data and models", entries, (SYNTHETIC,))


def table3(results: Sequence[Result]) -> ComparisonTable:
    """Return the accuracy of eight methods without a shift."""
    title = "Table 3: accuracy without a shift"
    return ComparisonTable(title, accuracies(results), (READING,), scores=True)


def table4(results: Sequence[Result]) -> ComparisonTable:
    """Return the accuracy of six methods under three shifts."""
    title = "Table 4: accuracy under three shifts"
    return ComparisonTable(title, accuracies(results), (READING,), scores=True)


def accuracies(results: Iterable[Result]) -> list[Entry]:
    """Return the best accuracy of each method, the paper's, and our final accuracy."""
    return [
        Entry(
            (*heading(found), *_first_measured(found)),
            mine[0].cell.part.method.short,
            score(mine, "best"),
            published_figure(mine[0].cell.part),
            {"final": score(mine, "final")},
        )
        for found in by_setting(results)
        for mine in by_method(found)
    ]


def published_figure(part: TablePart) -> float | None:
    """Return the paper's figure, or None if it has none."""
    return published.accuracy(part.row.name, part.method.name, part.shift)


def by_setting(results: Iterable[Result]) -> list[list[Result]]:
    """Return results in groups of the same row, shift and number of rounds, whole runs first."""
    ordered = sorted(results, key=lambda result: result.cell.rounds != ROUNDS)
    return [*group_by(ordered, lambda result: result.setting).values()]


def by_method(results: Sequence[Result]) -> list[list[Result]]:
    """Return the results of a setting in groups of the same method."""
    return [*group_by(results, lambda result: result.cell.part).values()]


def heading(results: Sequence[Result]) -> tuple[str, ...]:
    """Return the texts that describe a setting: its row, shift, seeds and rounds."""
    part, rounds = results[0].cell.part, results[0].cell.rounds
    return (part.row.label, *shifted(part.shift, rounds), *counted(results))


def shifted(shift: str, rounds: int) -> list[str]:
    """Return the shift of the clients' data within ``rounds``, or nothing if there is none."""
    if shift == "incremental" and rounds < Incremental().schedule[1].round:
        return [QUARTER]
    return [] if shift == NO_SHIFT else [shift]


def counted(results: Sequence[Result]) -> list[str]:
    """Return the number of seeds of each method, and of rounds if they are not the paper's."""
    rounds, seeds = results[0].cell.rounds, Counter(result.cell.part for result in results)
    least, most = min(seeds.values()), max(seeds.values())
    some = f"{least} to {most}" if least < most else f"{most}"
    other = [f"{'only ' * (rounds < ROUNDS)}{rounds} rounds"] if rounds != ROUNDS else []
    return [f"{some} seed{'s' * (most > 1)}", *other]


def _first_measured(results: Sequence[Result]) -> list[str]:
    """Return the first round in which all methods are measured, if there are fewer rounds."""
    first = min(result.accuracy.first_round or 1 for result in results)
    short = results[0].cell.rounds != ROUNDS and first > 1
    return [f"from round {first} on"] if short else []


def score(results: Sequence[Result], which: str) -> MeanDeviation:
    """Return an accuracy in %: ``best``, ``final`` or ``median``."""
    values = [getattr(result.accuracy, which) for result in results]
    return MeanDeviation.of(None if value is None else 100 * value for value in values)


def figure(results: Sequence[Result], of: Callable[[Summary], float | None]) -> MeanDeviation:
    """Return mean and spread over the seeds of a value of each summary."""
    return MeanDeviation.of(of(result.summary) for result in results)
