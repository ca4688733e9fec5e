"""What each legitimate choice does to the published numbers: a table of its own."""

from collections.abc import Iterator, Sequence

from flexcfl.paper.cells import Part
from flexcfl.paper.choices import CHOICES, NO_SHIFT
from flexcfl.paper.methods import METHODS
from flexcfl.paper.results import Result
from flexcfl.paper.rows import ROUNDS, Row
from flexcfl.paper.sheet import Entry, Sheet
from flexcfl.paper.tables import READING, SHIFTS, counted, paper, score

__all__ = ["choices", "choices_parts"]

# Choice, value, and where it is measured: methods and shifts.
MEASURED: Sequence[tuple[str, str, Sequence[str], Sequence[str]]] = (
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


def choices_parts(row: Row) -> list[Part]:
    """Return the parts with each choice, and those with the default beside them."""
    pairs = [pair for *_, pair in _measured(row)]
    return list(dict.fromkeys(part for pair in pairs for part in pair))


def _measured(row: Row) -> Iterator[tuple[str, str, tuple[Part, Part]]]:
    for choice, value, methods, shifts in MEASURED:
        for method in methods:
            for shift in shifts:
                usual = Part(row, METHODS[method], shift)
                yield choice, value, (usual, usual.choosing(((choice, value),)))


def choices(results: Sequence[Result]) -> Sheet:
    """Return for each choice the accuracy with it, without it, and the paper's."""
    alike: dict[tuple[Row, int], list[Result]] = {}
    for result in sorted(results, key=lambda result: result.cell.rounds != ROUNDS):
        alike.setdefault((result.cell.part.row, result.cell.rounds), []).append(result)
    entries = [entry for (row, _), found in alike.items() for entry in _entries(row, found)]
    ordered = dict.fromkeys(entry.block for entry in entries)
    notes = (
        READING,
        "Chosen is with the choice at the left, default is without it, over the same seeds.",
        *(f"{name} ({' or '.join(choice.values)}): {choice.what}." for name, choice in
          CHOICES.items()),
    )  # fmt: skip
    by_block = [entry for block in ordered for entry in entries if entry.block == block]
    title = "Choices that the paper and its code leave, measured"
    return Sheet(title, by_block, notes, ours="chosen")


def _entries(row: Row, results: Sequence[Result]) -> Iterator[Entry]:
    for choice, value, (usual, part) in _measured(row):
        both = [{each.cell.seed: each for each in results if each.cell.part == one}
                for one in (part, usual)]  # fmt: skip
        seeds = sorted(both[0].keys() & both[1].keys())
        mine, default = ([found[seed] for seed in seeds] for found in both)
        if seeds:
            shift = "no shift" if usual.shift == NO_SHIFT else usual.shift
            block = (f"{choice}={value}", usual.method.label, shift)
            beside = {"default": score(default, "best"), "final": score(mine, "final")}
            beside["default, final"] = score(default, "final")
            yield Entry(block, _column(mine), score(mine, "best"), paper(usual), beside)


def _column(results: Sequence[Result]) -> str:
    return ", ".join([results[0].cell.part.row.label, *counted(results)])
