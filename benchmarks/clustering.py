"""Measure the cost of comparing founders: EDC by a truncated SVD, as in the paper, or all pairs.

The updates of n founders of d parameters come from as many clear directions as there are groups,
which is the best case for a truncated SVD. All that is compared has one thread, as in the library,
and takes turns; told are medians of processor time. ``--work`` tells the multiply-adds of each
instead: those of the products by count, those within LAPACK to the leading order.

Examples: python benchmarks/clustering.py, and python benchmarks/clustering.py --work
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import common
import numpy as np
from decompositions import OVERSAMPLES, by_exact, by_lanczos, by_randomized, lanczos_products

from flexcfl.benchmark.machine import machine, peak_memory
from flexcfl.clustering import complete_linkage, cosines, edc, gram, k_means, madc
from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import Ids, Vectors

GROUPS = 5
FOUNDERS = (20, 60, 100, 300, 1000, 3000)
PARAMETERS = (7_850, 101_770, 407_050, 3_274_634)  # MCLR, MLP of MNIST, of FEMNIST, the largest CNN
LARGEST = 410_000_000  # numbers, of 4 bytes each
QUICK = 10**9  # up to this n n d a step is timed more than once
EXACT = 5 * QUICK  # up to this n n d all singular vectors are computed
STRENGTH = 0.7  # of a group's direction relative to noise: a cosine of a third within a group


def drawn(founders: int, parameters: int) -> Vectors:
    """Return the updates of founders, which belong to the groups in turn."""
    rng = np.random.default_rng(0)
    updates = rng.standard_normal((founders, parameters), dtype=np.float32)
    for group in range(GROUPS):
        direction = rng.standard_normal(parameters, dtype=np.float32)
        updates[group::GROUPS] += np.float32(STRENGTH) * direction
    return updates


def _divided(points: Matrix) -> Ids:
    return k_means(points, GROUPS, np.random.default_rng(0))


# From the updates, and the results of earlier steps.
STEPS: Mapping[str, Callable[[Vectors, Mapping[str, Any]], object]] = {
    "all pairs": lambda updates, found: gram(updates),
    "EDC of them": lambda updates, found: edc(found["all pairs"], GROUPS),
    "MADC of them": lambda updates, found: madc(cosines(found["all pairs"])),
    "randomized": lambda updates, found: by_randomized(updates, GROUPS),
    "Lanczos": lambda updates, found: by_lanczos(updates, GROUPS),
    "exact": lambda updates, found: by_exact(updates, GROUPS),
    "K-means": lambda updates, found: _divided(found["EDC of them"]),
    "linkage": lambda updates, found: complete_linkage(found["MADC of them"], GROUPS),
}


def work(n: int, d: int) -> dict[str, int]:
    """Return the multiply-adds of each step; MADC's are differences of cosines.

    LAPACK's own, in EDC of all pairs (3 n^3), ``exact`` and what keeps ``randomized`` orthogonal,
    are to the leading order, where n is no more than d.
    """
    wide = min(n, GROUPS + OVERSAMPLES)
    powers = 7 if 0.1 * n > GROUPS else 4  # as in scikit-learn
    points = n * d * (GROUPS + 1)
    return {
        "all pairs": n * (n + 1) // 2 * d,  # BLAS uses the symmetry
        "EDC of them": 3 * n**3 + n * n * GROUPS,
        "MADC of them": n * n * (n + 1) // 2,
        "randomized": (2 * powers + 2) * n * d * wide + (powers + 6) * d * wide**2 // 2 + points,
        "Lanczos": lanczos_products(drawn(n, d), GROUPS) * n * d + points,
        "exact": 3 * n * n * d + points,
    }


def measured(n: int, d: int, rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each step."""
    updates, found = drawn(n, d), dict[str, Any]()
    steps = [name for name in STEPS if name != "exact" or n * n * d <= EXACT]
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds if n * n * d <= QUICK else 1):
        for name in steps:
            start = time.process_time()  # of one thread, so other processes do not count
            found[name] = STEPS[name](updates, found)
            times[name].append(1000 * (time.process_time() - start))
    return {name: statistics.median(each) for name, each in times.items()}


def sizes(largest: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of founders and of parameters whose updates fit into memory."""
    return ((n, d) for d in PARAMETERS for n in FOUNDERS if n * d <= largest)


def main() -> None:
    """Print a table of times, or of work, line by line."""
    parser = common.parser(__doc__)
    parser.add_argument("--largest", type=int, default=LARGEST, help="numbers of all updates")
    parser.add_argument("--rounds", type=int, default=5, help="1 for large updates")
    parser.add_argument("--work", action="store_true", help="millions of multiply-adds, not ms")
    options = parser.parse_args()
    print(common.line("founders", "parameters", *STEPS))
    print(f"|{'---:|' * (2 + len(STEPS))}")
    measured(20, 100, rounds=1)  # imports libraries first
    for n, d in sizes(options.largest):
        found: Mapping[str, float] = (
            {name: each / 1e6 for name, each in work(n, d).items()}
            if options.work
            else measured(n, d, options.rounds)
        )
        cells = (f"{found[name]:,.3g}" if name in found else "-" for name in STEPS)
        print(common.line(n, f"{d:,}", *cells), flush=True)
    print(f"{machine()}. Peak memory {peak_memory() / 2**30:.1f} GiB.")


if __name__ == "__main__":
    main()
