"""One piece of work, measured: the engine beside the plain loop and the machine's limit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch

from flexcfl.benchmark.rounds import Round, engine_round, make_round, multiply_adds, plain_loop
from flexcfl.benchmark.timing import alternate, sgemm_rate
from flexcfl.benchmark.works import LOCAL, Work
from flexcfl.data import Federation
from flexcfl.engine import Engine
from flexcfl.models import build
from flexcfl.seeds import generator

__all__ = ["Measured", "measure"]


@dataclass(frozen=True)
class Measured:
    """Median microseconds per client step, one mini-batch of one client, over some rounds.

    ``limit`` is what the multiply-adds of a full step would take at the rate of the machine's own
    large matrix product on all cores.
    """

    work: Work
    parameters: int
    path: str
    steps: int
    rounds: int
    plain: float
    ours: float
    limit: float

    @property
    def speedup(self) -> float:
        """How many times as fast as the plain loop."""
        return self.plain / self.ours

    @property
    def distance(self) -> float:
        """How many times as long as the limit."""
        return self.ours / self.limit


def measure(
    work: Work, federation: Federation, rounds: int, tell: Callable[[], object] = lambda: None
) -> Measured:
    """Let the engine and the plain loop take turns on some rounds; ``tell`` as in ``alternate``."""
    factory = partial(build, work.dataset, work.model, federation.shape, federation.classes)
    engine = Engine(factory, federation.x, federation.y, federation.classes)
    start = engine.initial(generator(0, "initial"))
    module = engine.module(start).train()
    x, y = torch.from_numpy(federation.x), torch.from_numpy(federation.y)
    named = {name: torch.from_numpy(values) for name, values in engine.unflatten(start).items()}
    made = [make_round(federation, number, work.cohort, LOCAL) for number in range(rounds)]
    contestants: Mapping[str, Callable[[Round], object]] = {
        "plain": partial(plain_loop, module, x, y, named, LOCAL),
        "ours": partial(engine_round, engine, federation, start, LOCAL),
    }
    medians = alternate(contestants, made, lambda each: each.steps, tell)
    step = multiply_adds(module, x[: LOCAL.batch], y[: LOCAL.batch])
    return Measured(
        work=work,
        parameters=engine.parameters,
        path=engine.path,
        steps=sum(each.steps for each in made),
        rounds=rounds,
        **medians,
        limit=step / sgemm_rate() * 1e6,
    )
