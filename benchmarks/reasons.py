"""Why published figures are lower than ours: defects of the released code, put in from outside.

Nothing of this is in the library. A rule that uses the first client of a group alone takes the
place of the mean in IFCA and FeSEM. Incremental release shrinks the data. FEMNIST's clients get the
first images of a class each, so that they share them; and, as other sources of these letters have
them, dark letters on a white ground. docs/replication.md tells what came of it.

Example: python benchmarks/reasons.py --data DIR
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import Weights
from flexcfl.data import Federation, IndexLists, load_federation
from flexcfl.protocol import Ids, Vectors
from flexcfl.reproduction import published
from flexcfl.reproduction.cells import Cell, Part
from flexcfl.reproduction.methods import METHODS
from flexcfl.reproduction.rows import ROWS
from flexcfl.runner.execute import execute
from flexcfl.runner.own import Own
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.shifts import Holdings, Moment

LINEAR = ("mnist-mclr", "femnist-mclr", "synthetic-mclr")
SEED = 748  # of the published sizes of FEMNIST


@dataclass(frozen=True)
class First:
    """The update of the first client of a group, as if it were all that came."""

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """Return the first row."""
        step: NDArray[np.float32] = updates[rows[0]]
        return step


def one_client(data: Path | None, rounds: int) -> Iterator[tuple[str, float | None, Prepared]]:
    """Yield IFCA and FeSEM whose groups follow one client a round."""
    for row in LINEAR:
        for name in ("ifca", "fesem"):
            prepared = prepare(_cell(row, name, data, rounds).experiment)
            algorithm: Any = prepared.algorithm
            changed = replace(prepared, algorithm=replace(algorithm, rule=First()))
            yield f"{row}, {name}, one client a group", published.ACCURACY[row][name], changed


def other_images(data: Path | None, rounds: int) -> Iterator[tuple[str, float | None, Prepared]]:
    """Yield methods on FEMNIST with images that clients share, and dark ones on a white ground."""
    ours = load_federation("femnist", data)
    others = {"shared images": _first_images(ours), "white ground": replace(ours, x=1 - ours.x)}
    for what, federation in others.items():
        for name in ("fedavg", "ifca", "flexcfl"):
            experiment = _cell("femnist-mclr", name, data, rounds).experiment
            paper = published.ACCURACY["femnist-mclr"][name]
            yield f"femnist-mclr, {name}, {what}", paper, prepare(experiment, Own(federation))


@dataclass(frozen=True)
class Shrinking:
    """Incremental release as the code computes it: shares of what is left, not of all."""

    variants: ClassVar[bool] = False

    def check(self, federation: Federation) -> None:
        """Accept every federation."""

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Keep a quarter, then a half of that, then three quarters of that."""
        share = 1 / 4 if moment.number < 50 else 1 / 8 if moment.number < 100 else 3 / 32
        if moment.number == 0:
            priority = moment.rng.random(len(holdings.train))
            return replace(holdings, share=share, priority=priority)
        return holdings if share == holdings.share else replace(holdings, share=share)


def shrinking(data: Path | None, rounds: int) -> Iterator[tuple[str, float | None, Prepared]]:
    """Yield methods whose clients are left with less and less."""
    for row in LINEAR:
        for name in ("fedavg", "ifca", "flexcfl"):
            cell = Cell(Part(ROWS[row], METHODS[name], "incremental"), rounds=rounds, data=data)
            prepared = prepare(replace(cell.experiment, shift={"incremental": Shrinking()}))
            paper = published.UNDER_SHIFT[row][name]["incremental"]
            yield f"{row}, {name}, incremental that shrinks", paper, prepared


def _cell(row: str, method: str, data: Path | None, rounds: int) -> Cell:
    return Cell(Part(ROWS[row], METHODS[method]), rounds=rounds, data=data)


def _first_images(federation: Federation) -> Federation:
    """Return the federation with the published sizes, each client's images from the first on."""
    rng = np.random.RandomState(SEED)
    number = rng.lognormal(4, 1, federation.clients) + 5
    by_class = [np.flatnonzero(federation.y == label) for label in range(10)]
    train, test = [], []
    for client, size in enumerate(number):
        each = max(int(size / 3), 2)
        own = np.concatenate([by_class[(client + j) % 10][:each] for j in range(3)])
        own = rng.permutation(own)
        train.append(own[: int(0.9 * len(own))])
        test.append(own[int(0.9 * len(own)) :])
    return replace(federation, train=IndexLists.of(train), test=IndexLists.of(test))


def main() -> None:
    """Run all, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="where the files of the data sets are")
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    for kind in (one_client, shrinking, other_images):
        for name, paper, prepared in kind(options.data, options.rounds):
            accuracy = execute(prepared).summary["accuracy"]
            figures = f"best {accuracy['best']:.1%}, last ten {accuracy['final']:.1%}"
            print(f"{name}: {figures} (paper {paper} %)", flush=True)


if __name__ == "__main__":
    main()
