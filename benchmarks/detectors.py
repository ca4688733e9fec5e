"""Count hits, misses and false alarms of the drift detectors under each shift, without training.

Clients are visited 20 a round and keep a profile when they are first visited. In every round all
who were visited are checked, and who has a verdict keeps a new profile at once.

A *shift* of a client is a time in which more than a fifth of its training data are of another kind
than those of its profile; a kind is a class of the pool, a labelling and a turn. It begins in the
round in which that becomes so, and ends with a verdict, with the return of the old kinds, or with
the last round. A *harmless* change is one in nothing but the amount, or to other data of the same
kinds whose shares differ by a tenth of the data at most: a verdict on it is a false alarm. Changes
in between, by up to a fifth or to new kinds, count as neither.

Example: python benchmarks/detectors.py --data DIR
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import common
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from flexcfl.data import Federation, load_federation
from flexcfl.data.variants import TURNS
from flexcfl.errors import FlexcflError
from flexcfl.protocol import Flags, Ids
from flexcfl.protocol.cohorts import Cohorts
from flexcfl.seeds import generator
from flexcfl.shifts import SHIFTS, DataView, Timeline
from flexcfl.shifts.detection import DETECTORS, Detector, Samples, Watch

COHORT = 20
SHIFTED = 0.2  # fraction of the data that has another kind after a shift
HARMLESS = 0.1  # a harmless change moves the fractions of the kinds by at most this much


@dataclass(frozen=True, eq=False)
class World:
    """One round: the clients' data and their kinds."""

    federation: Federation
    view: DataView
    first_sizes: Ids
    kinds: NDArray[np.float64]

    @classmethod
    def of(cls, federation: Federation, view: DataView, first_sizes: Ids) -> "World":
        """Return the fractions of the kinds in each client's training data."""
        rows, variants = view.train.indices, view.variants
        indices, labelling, turns = (
            variants.parts(rows) if variants else (rows, np.zeros_like(rows), np.zeros_like(rows))
        )
        ways = TURNS * (len(variants.labellings) if variants else 1)
        kind = (labelling * TURNS + turns) * federation.classes + federation.y[indices]
        clients = np.repeat(np.arange(federation.clients), view.train.sizes)
        width = ways * federation.classes
        counts = np.bincount(clients * width + kind, minlength=federation.clients * width)
        shares = counts.reshape(-1, width) / view.train.sizes[:, None]
        return cls(federation, view, first_sizes, shares)

    def samples(self, clients: Ids) -> Samples:
        """Return the data that a detector may see."""

        def examples(position: int) -> tuple[NDArray[np.float32], Ids]:
            rows, pool = self.view.train[int(clients[position])], self.federation
            if self.view.variants is None:
                return pool.x[rows], pool.y[rows]
            return self.view.variants.gather(pool.x, pool.y, rows)

        return Samples(self.view.label_counts[clients], self.first_sizes[clients], examples)


@dataclass(eq=False)
class Score:
    """The results of one detector under one shift; ``rows`` and ``kinds`` are the profiles'."""

    watch: Watch
    kinds: NDArray[np.float64]
    rows: dict[int, set[int]] = field(default_factory=dict)
    shifts: int = 0
    at_once: int = 0
    later: int = 0
    harmless: int = 0
    false_alarms: int = 0
    alarmed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.open = np.zeros(self.watch.clients, dtype=np.bool_)

    def settle(self, clients: Ids, world: World) -> None:
        """Let clients store a profile of their data."""
        self.watch.settle(clients, world.samples(clients))
        self.kinds[clients] = world.kinds[clients]
        self.rows.update((client, set(world.view.train[client])) for client in clients.tolist())
        self.open[clients] = False

    def step(self, known: Ids, world: World) -> None:
        """Check all known clients, count, and renew the profiles of those with a verdict."""
        changed = np.intersect1d(world.view.shifted, known)
        self.watch.stir(changed)
        verdicts = self.watch.check(known, world.samples)
        self._count(changed, np.isin(changed, known[verdicts]), world)
        self.settle(known[verdicts], world)

    def _count(self, clients: Ids, verdict: Flags, world: World) -> None:
        kept, now = self.kinds[clients], world.kinds[clients]
        share = np.abs(now - kept).sum(axis=-1) / 2
        alike = ((kept > 0) == (now > 0)).all(axis=-1) & (share <= HARMLESS)
        amount = np.array([self._only_amount(client, world) for client in clients.tolist()], bool)
        harmless, shifted = amount | alike, ~amount & (share > SHIFTED)
        begun = shifted & ~self.open[clients]
        self.shifts += int(begun.sum())
        self.at_once += int((begun & verdict).sum())
        self.later += int((shifted & ~begun & verdict).sum())
        self.harmless += int(harmless.sum())
        self.false_alarms += int((harmless & verdict).sum())
        self.alarmed.update(clients[harmless & verdict].tolist())
        self.open[clients] = shifted

    def _only_amount(self, client: int, world: World) -> bool:
        kept, now = self.rows[client], set(world.view.train[client])
        return kept <= now or now <= kept

    def cells(self) -> Iterator[str]:
        """Yield the figures of a line of the table."""
        caught = (self.at_once, self.later, self.shifts - self.at_once - self.later)
        yield f"{self.shifts:,}"
        yield from (_percent(count, self.shifts) for count in caught)
        yield f"{self.harmless:,}"
        yield f"{self.false_alarms:,} ({_percent(self.false_alarms, self.harmless)})"
        yield _percent(len(self.alarmed), self.watch.clients)


def run(
    federation: Federation, shift: str, detectors: Mapping[str, Detector], seed: int, rounds: int
) -> dict[str, Score]:
    """Apply one shift for some rounds, and return the results of each detector."""
    arrival = np.zeros(federation.clients, dtype=np.int64)
    before = Cohorts(seed, arrival, min(COHORT, federation.clients)).visited
    timeline = Timeline(federation, {shift: SHIFTS[shift].shift()}, seed, before)
    first = timeline.at(0)
    world = World.of(federation, first, first.train.sizes)
    scores = {
        name: Score(Watch(detector, federation.clients), np.zeros_like(world.kinds))
        for name, detector in detectors.items()
    }
    for number in track(range(1, rounds + 1), shift, console=Console(stderr=True)):
        world = World.of(federation, timeline.at(number), first.train.sizes)
        known = before(number)
        for score in scores.values():
            score.step(known, world)
            score.settle(np.setdiff1d(before(number + 1), known), world)
    return scores


def same_labels(federation: Federation, detector: Detector, seed: int) -> tuple[int, int]:
    """Return how many clients see drift in another client's data with the same labels, of how many.

    Their proportions may differ, which is drift for who looks at labels, and their examples are of
    other people.
    """
    sizes = federation.train.sizes
    view = Timeline(federation, {}, seed, lambda number: sizes[:0]).at(0)
    world = World.of(federation, view, sizes)
    _, group = np.unique(world.kinds > 0, axis=0, return_inverse=True)
    order = generator(seed, "same labels").permutation(federation.clients)
    order = order[np.argsort(group.ravel()[order], kind="stable")]
    alike = group.ravel()[order[1:]] == group.ravel()[order[:-1]]
    profiles = detector.profiles(world.samples(order))
    return int(detector.drifted(profiles[:-1], profiles[1:])[alike].sum()), int(alike.sum())


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.1f} %" if total else "-"


def report(
    federation: Federation,
    shifts: list[str],
    detectors: Mapping[str, Callable[[], Detector]],
    seed: int,
    rounds: int,
) -> None:
    """Print one Markdown table for all shifts, and one for exchanges among the same labels."""
    made = {name: detector() for name, detector in detectors.items()}
    lines = [
        "| shift | detector | shifts | caught at once | later | missed | harmless changes "
        "| false alarms | clients with one |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for shift in shifts:
        scores = run(federation, shift, made, seed, rounds)
        lines += [f"| {shift} | {n} | {' | '.join(s.cells())} |" for n, s in scores.items()]
    print("\n".join(lines))
    print("\n| detector | exchanges between clients of the same labels | verdicts |\n|---|---|---|")
    for name, detector in made.items():
        raised, total = same_labels(federation, detector, seed)
        print(f"| {name} | {total:,} | {_percent(raised, total)} |")


def main() -> None:
    """Read the options and print the tables."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder of the data (or FLEXCFL_DATA)")
    parser.add_argument("--dataset", default="mnist", help="the federation (mnist)")
    parser.add_argument("--seed", type=int, default=0, help="of visits and shifts (0)")
    parser.add_argument("--rounds", type=int, default=300, help="rounds of each shift (300)")
    parser.add_argument("--shifts", nargs="+", choices=SHIFTS, default=list(SHIFTS), metavar="S")
    parser.add_argument(
        "--detectors", nargs="+", choices=DETECTORS, default=list(DETECTORS), metavar="D"
    )
    options = parser.parse_args()
    try:
        federation = load_federation(options.dataset, options.data)
        chosen = {name: DETECTORS[name].detector for name in options.detectors}
        report(federation, options.shifts, chosen, options.seed, options.rounds)
    except FlexcflError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
