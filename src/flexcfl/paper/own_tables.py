"""Our own tables: choices, all algorithms, and one configuration compared with the best method.

docs/replication.md says how that configuration was found, on which seeds, and what else was tried.
"""

from collections.abc import Iterator, Mapping, Sequence

from flexcfl.paper import published, tables
from flexcfl.paper.catalogue import METHODS, NO_SHIFT, ROUNDS, SHIFTS, Method, PaperRow
from flexcfl.paper.cells import CHOICES, TablePart
from flexcfl.paper.comparison_table import ComparisonTable, Entry, difference
from flexcfl.paper.results import Result, group_by
from flexcfl.paper.tables import READING, score
from flexcfl.record.metrics import MeanDeviation

# Choice, value, and the methods and shifts for which it is measured.
CHOICES_MEASURED: Sequence[tuple[str, str, Sequence[str], Sequence[str]]] = (
    ("pretraining", "epoch", ("flexcfl",), (NO_SHIFT, "swap-all")),
    ("first-model", "origin", ("flexcfl",), (NO_SHIFT,)),
    ("sharing", "additive", ("flexcfl-eta0.1",), (NO_SHIFT,)),
    ("sharing", "additive", ("flexcfl-eta5",), ("swap-all", "swap-part")),
    ("averaging", "examples", ("ifca", "fesem"), (NO_SHIFT,)),
    ("drift", "wasserstein", ("flexcfl",), SHIFTS),
    ("drift", "wasserstein-counts", ("flexcfl",), SHIFTS),
    ("cohorts", "same", ("fedavg",), (NO_SHIFT,)),
    ("l2", "code", ("fedavg", "ifca", "flexcfl"), (NO_SHIFT,)),
)

ALGORITHMS = (
    *("fedavg", "fedprox", "fedgroup", "flexcfl", "flexcfl-eta5", "flexcfl-rcc", "flexcfl-rac"),
    *("ifca", "ifca-mig", "fesem", "fesem-mig", "cfl", "flhc"),
)
ALIKE = (("cohorts", "same"),)
COHORTS = "All methods meet the same cohorts: every client once, then drawn at random."

BEYOND_ROWS = ("mnist-mclr", "mnist-mlp", "femnist-mclr", "femnist-mlp", "synthetic-mclr")
OURS = Method(
    "ours",
    "ours",
    "flexcfl",
    # Found on seeds 10 and 11: docs/decisions/0016-one-configuration.md.
    {"algorithm.groups": "auto", "algorithm.most_groups": 20, "algorithm.alpha": 10},
)
# Ours has more groups than any method in the paper, so its strongest rival gets as many.
CONTROLS = tuple(
    Method(f"ifca-groups{groups}", f"IFCA {groups} groups", "ifca", {"algorithm.groups": groups})
    for groups in (10, 20)
)
BEYOND = (
    "Accuracy in %, mean over the seeds: best is the maximum over rounds, the paper's score, and "
    "final the mean of the last ten rounds, both over the rounds in which every method is "
    "measured. Best of the tables is the method of Tables 3 and 4 that has most in its best round, "
    "named at the left, and margin is how much more ours has. The configuration was chosen on "
    "other seeds. IFCA with 10 and 20 groups tells what of the margin is the number of groups "
    "alone."
)


def choices_parts(row: PaperRow) -> list[TablePart]:
    """Return the parts with each choice, and those with the default."""
    pairs = [pair for *_, pair in _choices_measured(row)]
    return list(dict.fromkeys(part for pair in pairs for part in pair))


def _choices_measured(row: PaperRow) -> Iterator[tuple[str, str, tuple[TablePart, TablePart]]]:
    for choice, value, methods, shifts in CHOICES_MEASURED:
        for method in methods:
            for shift in shifts:
                usual = TablePart(row, METHODS[method], shift)
                yield choice, value, (usual, usual.choosing(((choice, value),)))


def choices(results: Sequence[Result]) -> ComparisonTable:
    """Return for each choice the accuracy with it, without it, and the paper's."""
    whole_first = sorted(results, key=lambda result: result.cell.rounds != ROUNDS)
    alike = group_by(whole_first, lambda result: (result.cell.part.row, result.cell.rounds))
    entries = [entry for (row, _), found in alike.items() for entry in _choices_of(row, found)]
    by_block = group_by(entries, lambda entry: entry.block).values()
    notes = (
        READING,
        "Chosen is with the choice at the left, default is without it, over the same seeds.",
        *(f"{name} ({' or '.join(each.values)}): {each.what}." for name, each in CHOICES.items()),
    )
    title = "Choices that the paper and its code leave, measured"
    return ComparisonTable(
        title, [each for mine in by_block for each in mine], notes, ours="chosen"
    )


def _choices_of(row: PaperRow, results: Sequence[Result]) -> Iterator[Entry]:
    for choice, value, (usual, part) in _choices_measured(row):
        both = [{each.cell.seed: each for each in results if each.cell.part == one}
                for one in (part, usual)]  # fmt: skip
        seeds = sorted(both[0].keys() & both[1].keys())
        mine, default = ([found[seed] for seed in seeds] for found in both)
        if seeds:
            shift = "no shift" if usual.shift == NO_SHIFT else usual.shift
            block = (f"{choice}={value}", usual.method.label, shift)
            column = ", ".join([row.label, *tables.counted(mine)])
            beside = {"default": score(default, "best"), "final": score(mine, "final")}
            beside["default, final"] = score(default, "final")
            yield Entry(block, column, score(mine, "best"), tables.published_figure(usual), beside)


def algorithms_parts(row: PaperRow) -> list[TablePart]:
    """Return all algorithms on a row, under every shift and without one."""
    # With 100 clients all would be founders, and no client would be left to place at random.
    refused = {name for name, paper in published.ACCURACY[row.name].items() if paper is None}
    names = [name for name in ALGORITHMS if name not in refused]
    shifts = (NO_SHIFT, *SHIFTS)
    return [
        TablePart(row, METHODS[name], shift).choosing(ALIKE) for shift in shifts for name in names
    ]


def algorithms(results: Sequence[Result]) -> ComparisonTable:
    """Return the accuracy of every algorithm, with the paper's if it has one."""
    title, entries = "Every algorithm on the same cohorts", tables.accuracies(results)
    return ComparisonTable(title, entries, (READING, COHORTS), scores=True)


def beyond_parts(row: PaperRow) -> list[TablePart]:
    """Return the parts of Tables 3 and 4, and our configuration with its controls."""
    shifts = (NO_SHIFT, *SHIFTS)
    beside = [TablePart(row, method, shift) for method in (OURS, *CONTROLS) for shift in shifts]
    return [*tables.table3_parts(row), *tables.table4_parts(row), *beside]


def beyond(results: Sequence[Result]) -> ComparisonTable:
    """Return our configuration and the best method of the tables, row by row."""
    entries = [entry for found in tables.by_setting(results) for entry in _beyond(found)]
    title = "Beyond the paper: one configuration in every row"
    return ComparisonTable(title, entries, (BEYOND,), ours="best")


def _beyond(results: Sequence[Result]) -> Iterator[Entry]:
    """Yield the entries of a setting, or none if our configuration or all others are missing."""
    methods = {mine[0].cell.part.method: mine for mine in tables.by_method(results)}
    beside = {method: methods.pop(method, []) for method in (OURS, *CONTROLS)}
    if not methods or not beside[OURS]:
        return
    most = max(methods, key=lambda method: score(methods[method], "best").mean or 0.0)
    block = (*tables.heading(results), f"best: {most.label}")

    def entry(column: str, scored: Mapping[str, MeanDeviation]) -> Entry:
        return Entry(block, column, scored["best"], None, {"final": scored["final"]})

    best, ours = _scores(methods[most]), _scores(beside[OURS])
    margin = {
        name: MeanDeviation(difference(ours[name].mean, best[name].mean), None) for name in ours
    }
    yield from (entry("best of the tables", best), entry(OURS.label, ours), entry("margin", margin))
    yield from (entry(each.label, _scores(beside[each])) for each in CONTROLS if beside[each])


def _scores(results: Sequence[Result]) -> Mapping[str, MeanDeviation]:
    return {name: score(results, name) for name in ("best", "final")}
