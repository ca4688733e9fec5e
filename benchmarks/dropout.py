"""Find the cause of the loss under drop-out: clients miss only a part of a round.

Nothing of this is in the library. 30 % of the clients are away in every round, by the same draws in
all rows, but miss only some of what is asked; and in the last ten rounds it is seen who is tested
in a group that no longer fits. docs/reliability.md tells what came of it.

Example: python benchmarks/dropout.py --data DIR
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any

import common
from common import line
from dropout_clients import EVERYTHING, Partial, Tally
from reliability_rows import TABLES
from reliability_tables import against, difference, mean

from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve
from flexcfl.runner.execute import execute
from flexcfl.runner.prepare import prepare

SEEDS = TABLES["failing"].seeds  # counted from 0
FILE = Path(__file__).parents[1] / "results" / "dropout.csv"
SETTINGS: Mapping[str, Any] = {
    "data.name": "mnist",
    "algorithm.name": "flexcfl",
    "shift.name": "swap-all",
}
AWAY = {"faults.dropout": 0.3}
NOBODY = "nobody is away"
# For each row its settings, and the parts of a round that absent clients miss.
ROWS: Mapping[str, tuple[Mapping[str, Any], frozenset[str]]] = MappingProxyType(
    {
        NOBODY: ({}, frozenset()),
        "away from everything": (AWAY, EVERYTHING),
        "away, but migrating": (AWAY, EVERYTHING - {"migration"}),
        "away from migration alone": (AWAY, frozenset({"migration"})),
        "away from training alone": (AWAY, frozenset({"training"})),
        "away from founding and placement alone": (AWAY, frozenset({"placement"})),
        "nobody is away, 14 a round": ({"run.cohort": 14}, frozenset()),
    }
)
HEADS = (
    *("who misses what", "best", "difference", "final", "difference"),
    *("final, clients in a group that fits", "difference", "tests in one that does not"),
)


@dataclass(frozen=True)
class Done:
    """One run, a line of the file: accuracies and the outdated part are fractions.

    ``current`` is the final accuracy of clients whose group fits their data, as far as they could
    tell, ``outdated`` the part of the test examples that is with all others, ``outdated_there``
    how many of these, over ten rounds, were not away, and ``right`` what part of them is right.
    """

    row: str
    seed: int
    best: float
    final: float
    current: float
    outdated: float
    outdated_there: int
    right: float | None = None


def run(row: str, seed: int, more: Mapping[str, Any]) -> Done:
    """Run one row on one seed, with more settings."""
    given, missed = ROWS[row]
    told = {**SETTINGS, **given, **more, "run.seed": seed}
    prepared = prepare(resolve([SettingsLayer("given", told)]).experiment)
    tally = Tally(prepared.experiment.run.rounds)
    hosting: Any = Partial(missed, tally)
    # The last rounds are evaluated for the final accuracy.
    accuracy: Any = execute(prepared, hosting=hosting).summary["accuracy"]
    (current, old), (examples, outdated) = tally.hits, tally.examples
    return Done(
        row,
        seed,
        best=accuracy["best"],
        final=accuracy["final"],
        current=current / examples,
        outdated=outdated / (examples + outdated),
        outdated_there=tally.outdated_there,
        right=old / outdated if outdated else None,
    )


def by_row(runs: Iterable[Done]) -> Mapping[str, Mapping[int, Done]]:
    """Return runs by row, and then by seed."""
    found: dict[str, dict[int, Done]] = {}
    for done in runs:
        found.setdefault(done.row, {})[done.seed] = done
    return found


def markdown(runs: Iterable[Done]) -> Iterator[str]:
    """Yield the table line by line."""
    found = by_row(runs)
    yield line(*HEADS)
    yield "|---|" + "---:|" * (len(HEADS) - 1)
    for row, own in found.items():
        yield line(row, *_figures(own, found[NOBODY]))


def _figures(own: Mapping[int, Done], nobody: Mapping[int, Done]) -> Iterator[str]:
    for score in ("best", "final", "current"):
        yield mean(getattr(run, score) for run in own.values())
        yield "" if own is nobody else difference(against(own, nobody, score))
    yield f"{mean(run.outdated for run in own.values())} %"


def main() -> None:
    """Do all runs, two at once, save a line for each, and print the table."""
    given = common.arguments(__doc__, FILE).parse_args()
    more = {} if given.data is None else {"run.data": given.data}
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        every = [(row, seed) for row in ROWS for seed in range(SEEDS)]
        begun = [pool.submit(run, row, seed, more) for row, seed in every]
        runs = [each.result() for each in begun]
    common.write(given.runs, Done, runs)
    print(*markdown(runs), sep="\n")


if __name__ == "__main__":
    main()
