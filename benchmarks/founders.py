"""Measure the directions of founders that ``founder_cosine`` compares, for docs/robustness.md.

The first founders that FlexCFL asks for on MNIST, a fifth of them hostile, and the cosine of each
to the geometric median of the others' directions, to a hundredth below.

Example: python benchmarks/founders.py --data DIR
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import line
from numpy.typing import NDArray
from reliability_rows import FOUNDERS, SEEDS

from flexcfl import seeds
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve
from flexcfl.protocol import Trained, Vectors
from flexcfl.runner.hosting import SIMULATED
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.trust.guards.updates import judge_founders

FILE = Path(__file__).parents[1] / "results" / "founders.csv"
ATTACKS = ("sign-flip", "noise", "label-flip")
HEADS = ("attack", "honest, lowest", "hostile, highest", "honest ones turned away at 0.05")
STEPS = np.arange(-100, 101) / 100


@dataclass(frozen=True)
class Done:
    """The founders of one run, a line of the file: cosines of honest and hostile founders.

    ``honest_lost`` is the share of the honest ones that a bound of 0.05 turns away.
    """

    attack: str
    seed: int
    honest_lowest: float
    hostile_highest: float
    honest_lost: float


def run(attack: str, seed: int, data: Path | None) -> Done:
    """Let founders train, and compute the cosines of their updates."""
    settings: dict[str, Any] = {"data.name": "mnist", "algorithm.name": "flexcfl"}
    settings |= {"attack.name": attack, "run.seed": seed, **({"run.data": data} if data else {})}
    prepared = prepare(resolve([SettingsLayer("given", settings)]).experiment)
    reply = founders(prepared)
    cosine, hostile = cosines(reply.updates), prepared.roles.hostile[reply.clients]
    honest = cosine[~hostile]
    lost = float((honest < FOUNDERS["guards.founder_cosine"]).mean())
    return Done(attack, seed, float(honest.min()), float(cosine[hostile].max()), lost)


def founders(prepared: Prepared) -> Trained:
    """Return the replies of the first clients that are asked to found groups."""
    seed, present = prepared.experiment.run.seed, prepared.cohorts.present(0)
    rng = seeds.generator(seed, "start")
    order = next(prepared.algorithm.start(prepared.engine.initial, present, rng))
    reply: Trained = SIMULATED.world(prepared).at(0)(order).reply
    return reply


def cosines(updates: Vectors) -> NDArray[np.float64]:
    """Return for each update the highest limit, in hundredths, that still admits it."""
    admitted = np.array([judge_founders(updates, least)[0] for least in STEPS])
    return np.asarray(STEPS[admitted.sum(axis=0) - 1])


def markdown(runs: Sequence[Done]) -> Iterator[str]:
    """Yield a table line by line, with the lowest and the highest figure over the seeds."""
    yield line(*HEADS)
    yield "|---|" + "---:|" * (len(HEADS) - 1)
    for attack in ATTACKS:
        own = [run for run in runs if run.attack == attack]
        columns = [(run.honest_lowest, run.hostile_highest) for run in own]
        spans = (f"{min(values):.2f} to {max(values):.2f}" for values in zip(*columns, strict=True))
        lost = [100 * run.honest_lost for run in own]
        yield line(attack, *spans, f"{min(lost):.0f} to {max(lost):.0f} %")


def main() -> None:
    """Do all runs, save a line for each, and print the table."""
    given = common.arguments(__doc__, FILE).parse_args()
    runs = [run(attack, seed, given.data) for attack in ATTACKS for seed in range(SEEDS)]
    common.write(given.runs, Done, runs)
    print(*markdown(runs), sep="\n")


if __name__ == "__main__":
    main()
