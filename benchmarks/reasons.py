"""Find why published figures differ from ours: differences of paper or code, added from outside.

Nothing of this is in the library. A rule that uses the first client of a group alone takes the
place of the mean in IFCA and FeSEM. Incremental release shrinks the data. FEMNIST's clients get the
first images of a class each, so that they share them; and, as other sources of these letters have
them, dark letters on a white ground. Newcomers of FlexCFL train an epoch less, as the paper has it,
beside ours. docs/replication.md tells what came of it, and results/reasons.csv has a line for each
run; what is in the file already is not run again.

Example: python benchmarks/reasons.py --data DIR --only newcomers
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import common
import numpy as np
from newcomers import Continuing
from numpy.typing import NDArray

from flexcfl.aggregation import Weights
from flexcfl.data import Federation, IndexLists, load_federation
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.objects import UserObjects
from flexcfl.paper import published
from flexcfl.paper.catalogue import METHODS, NO_SHIFT, ROWS
from flexcfl.paper.cells import Cell, Chosen, TablePart
from flexcfl.protocol import Ids, Vectors
from flexcfl.runner.execute import execute
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.shifts import Holdings, Moment

FILE = Path(__file__).parents[1] / "results" / "reasons.csv"
LINEAR = ("mnist-mclr", "femnist-mclr", "synthetic-mclr")
SEED = 748  # of the published sizes of FEMNIST
EPOCH: Chosen = (("pretraining", "epoch"),)
# How long newcomers of FlexCFL pre-train, and the rest of the round that they train: None is all.
NEWCOMERS: Mapping[str, tuple[Chosen, Mapping[str, Any] | None]] = {
    "50 batches, then E epochs": ((), None),
    "50 batches, then E - 1": ((), {}),
    "one epoch, then E": (EPOCH, None),
    "one epoch, then E - 1": (EPOCH, {}),
    "one epoch, then E - 1 from its own model": (EPOCH, {"begin": "own"}),
}


@dataclass(frozen=True)
class Done:
    """One run, a line of the file: its difference, the run it varies, and its accuracies."""

    variant: str
    row: str
    method: str
    shift: str
    seed: int
    best: float
    final: float


@dataclass(frozen=True)
class Variant:
    """A difference, the run of the paper's tables that it varies, and how that run is prepared."""

    what: str
    cell: Cell
    prepare: Callable[[Experiment], Prepared]

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The key of its line."""
        part = self.cell.part
        return (self.what, part.row.name, part.method.name, part.shift, self.cell.seed)

    @property
    def paper(self) -> float | None:
        """The figure of the paper."""
        part = self.cell.part
        return published.accuracy(part.row.name, part.method.name, part.shift)


@dataclass(frozen=True)
class First:
    """The update of the first client of a group, as if no other had come."""

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """Return the first row."""
        step: NDArray[np.float32] = updates[rows[0]]
        return step


def one_client(seed: int, data: Path | None, rounds: int) -> Iterator[Variant]:
    """Yield IFCA and FeSEM whose groups follow one client a round."""

    def following(experiment: Experiment) -> Prepared:
        prepared = prepare(experiment)
        algorithm: Any = prepared.algorithm
        return replace(prepared, algorithm=replace(algorithm, rule=First()))

    for row, name in product(LINEAR, ("ifca", "fesem")):
        cell = Cell(TablePart(ROWS[row], METHODS[name]), seed, rounds, data)
        yield Variant("one client a group", cell, following)


def other_images(seed: int, data: Path | None, rounds: int) -> Iterator[Variant]:
    """Yield methods on FEMNIST with images that clients share, and with dark digits on white."""
    ours = load_federation("femnist", data)
    others = {"shared images": _first_images(ours), "white ground": replace(ours, x=1 - ours.x)}
    for (what, federation), name in product(others.items(), ("fedavg", "ifca", "flexcfl")):
        cell = Cell(TablePart(ROWS["femnist-mclr"], METHODS[name]), seed, rounds, data)
        yield Variant(what, cell, partial(prepare, own=UserObjects(federation)))


@dataclass(frozen=True)
class Shrinking:
    """Incremental release as the code computes it: fractions of the rest, not of all data."""

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


def shrinking(seed: int, data: Path | None, rounds: int) -> Iterator[Variant]:
    """Yield methods whose clients keep less and less data."""

    def left(experiment: Experiment) -> Prepared:
        return prepare(replace(experiment, shift={"incremental": Shrinking()}))

    for row, name in product(LINEAR, ("fedavg", "ifca", "flexcfl")):
        cell = Cell(TablePart(ROWS[row], METHODS[name], "incremental"), seed, rounds, data)
        yield Variant("incremental that shrinks", cell, left)


def newcomers(seed: int, data: Path | None, rounds: int) -> Iterator[Variant]:
    """Yield FlexCFL whose newcomers train as long as all others, and an epoch less."""
    for row, shift in product(LINEAR, (NO_SHIFT, "swap-all")):
        for what, (chosen, changes) in NEWCOMERS.items():
            cell = Cell(TablePart(ROWS[row], METHODS["flexcfl"], shift, chosen), seed, rounds, data)
            yield Variant(what, cell, partial(_continuing, changes))


def _continuing(changes: Mapping[str, Any] | None, experiment: Experiment) -> Prepared:
    prepared = prepare(experiment)
    if changes is None:
        return prepared
    ours: Any = prepared.algorithm
    return replace(prepared, algorithm=Continuing(ours.local, ours.options, **changes))


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


KINDS: Mapping[str, Callable[[int, Path | None, int], Iterator[Variant]]] = {
    "one-client": one_client,
    "shrinking": shrinking,
    "other-images": other_images,
    "newcomers": newcomers,
}


def run(variant: Variant) -> Done:
    """Run a variant, and print its result."""
    # The last rounds are evaluated for the final accuracy.
    accuracy: Any = execute(variant.prepare(variant.cell.experiment)).summary["accuracy"]
    done = Done(*variant.key, best=accuracy["best"], final=accuracy["final"])
    print(f"{done} (paper {variant.paper} %)", flush=True)
    return done


def main() -> None:
    """Do all runs that are not in the file yet, and save a line for each."""
    parser = common.arguments(__doc__, FILE)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds, counted from 0")
    parser.add_argument("--only", choices=KINDS, help="only this kind")
    given = parser.parse_args()
    runs = common.read(given.runs, Done)
    for kind, seed in product([given.only] if given.only else KINDS, range(given.seeds)):
        for variant in KINDS[kind](seed, given.data, given.rounds):
            if variant.key not in [astuple(done)[:-2] for done in runs]:
                runs.append(run(variant))
                common.write(given.runs, Done, runs)


if __name__ == "__main__":
    main()
