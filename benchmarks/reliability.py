"""The cost of drop-out, broken and hostile clients, and privacy: tables of docs/reliability.md.

Every row is one comparison, over as many seeds as its table says. The figures of every run are kept
in a file: rows that are in it are not run again, and the tables are made from it.

Example: python benchmarks/reliability.py --data DIR --only failing
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
from reliability_rows import BASE, TABLES, Settings, command, sets
from reliability_tables import Runs, markdown

import flexcfl
from flexcfl.errors import FlexcflError

FILE = Path(__file__).parents[1] / "results" / "reliability.csv"


@dataclass(frozen=True)
class Done:
    """One run, a line of the file: accuracies are fractions, None if not measured."""

    table: str
    row: str
    seed: int
    best: float
    final: float
    honest: float | None = None
    rejected: int = 0
    epsilon: float | None = None
    settings: str = ""

    @classmethod
    def of(cls, table: str, row: str, summary: Mapping[str, Any], settings: str) -> "Done":
        """Return the line for the summary of a run."""
        honest, privacy = summary["honest"], summary["privacy"]
        return cls(
            table,
            row,
            seed=summary["seed"],
            best=summary["accuracy"]["best"],
            final=summary["accuracy"]["final"],
            honest=honest["final"] if honest else None,
            rejected=sum(summary["rejected"].values()),
            epsilon=privacy["epsilon"] if privacy else None,
            settings=settings,
        )


def run(table: str, row: str, settings: Settings, data: Path | None) -> Iterator[Done]:
    """Run one row on all seeds."""
    done = flexcfl.compare(["flexcfl"], seeds=TABLES[table].seeds, data=data, set=settings, **BASE)
    for summary in done.runs["flexcfl"]:
        yield Done.of(table, row, summary, sets(settings))


def by_row(runs: Iterable[Done]) -> Runs:
    """Return runs by table and row, and then by seed."""
    found: dict[tuple[str, str], dict[int, Done]] = {}
    for done in runs:
        found.setdefault((done.table, done.row), {})[done.seed] = done
    return found


def ordered(runs: Iterable[Done]) -> list[Done]:
    """Return runs in the order of the tables."""
    order = [(name, row) for name, table in TABLES.items() for row in table.rows]
    return sorted(runs, key=lambda done: (order.index((done.table, done.row)), done.seed))


def missing(runs: Sequence[Done], only: str) -> Iterator[tuple[str, str, Settings]]:
    """Yield the rows that were not run yet and whose table or row name contains ``only``."""
    known = by_row(runs)
    for name, table in TABLES.items():
        for row, settings in table.rows.items():
            if (only in name or only in row) and len(known.get((name, row), ())) < table.seeds:
                yield name, row, settings


def main() -> None:
    """Run what is not in the file, and print all tables."""
    parser = common.arguments(__doc__, FILE)
    parser.add_argument("--only", default="", help="only tables or rows whose name contains this")
    given = parser.parse_args()
    runs: list[Done] = common.read(given.runs, Done)
    for name, row, settings in list(missing(runs, given.only)):
        print(f"{name}, {row}: {command(TABLES[name].seeds, settings)}", flush=True)
        try:
            runs = ordered([*runs, *run(name, row, settings, given.data)])
        except FlexcflError as error:
            raise SystemExit(str(error)) from None
        common.write(given.runs, Done, runs)
    for name in TABLES:
        print("", *markdown(name, by_row(runs)), sep="\n")


if __name__ == "__main__":
    main()
