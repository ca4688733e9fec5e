"""The mini-batches of each client, and how clients are stacked.

One step is one mini-batch of one client. Clients of a stack are sorted by their number of steps,
so that finished clients are at the end and nothing is computed for them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import TrainingError
from flexcfl.protocol import Ids, Local


@dataclass(frozen=True, eq=False)
class Schedule:
    """The mini-batches of one client: at step ``t`` the pool rows ``rows[t, :counts[t]]``.

    The rest of ``rows[t]`` repeats a row and carries no weight. ``closing[t]`` is the weight of the
    step's loss in the mean over the last local epoch; ``key`` seeds the client's dropout.
    """

    rows: NDArray[np.int64]
    counts: NDArray[np.int64]
    closing: NDArray[np.float32]
    key: int

    def __len__(self) -> int:
        return len(self.counts)


def steps(sizes: Ids, local: Local) -> Ids:
    """Return the number of mini-batches for clients with these numbers of examples."""
    if local.steps is not None:
        return np.full_like(sizes, local.steps)
    return local.epochs * -(-sizes // local.batch)


def draw_batches(examples: Ids, local: Local, rng: np.random.Generator) -> Schedule:
    """Draw a client's mini-batches: every epoch visits each example once, in a new order."""
    if len(examples) == 0:
        raise TrainingError("A client without examples cannot train: leave it out of the cohort.")
    size = len(examples)
    width = min(local.batch, size)
    per_epoch = -(-size // width)
    number = local.steps or local.epochs * per_epoch
    rows = np.empty((-(-number // per_epoch), per_epoch * width), dtype=np.int64)
    rows[:, :size] = examples
    rng.permuted(rows[:, :size], axis=1, out=rows[:, :size])
    rows[:, size:] = rows[:, :1]
    counts = np.full(number, width, dtype=np.int64)
    counts[per_epoch - 1 :: per_epoch] = size - (per_epoch - 1) * width
    closing = np.zeros(number, dtype=np.float32)
    last = counts[-per_epoch:]
    closing[-per_epoch:] = last / last.sum()
    return Schedule(
        rows=rows.reshape(-1, width)[:number],
        counts=counts,
        closing=closing,
        key=int(rng.integers(2**63)),
    )


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive steps during which the same clients, the first of a stack, are active.

    ``rows[step, client, position]`` are pool rows. ``weights`` are their weights in the mean loss
    of the batch: 1/count, or 0 for padding. ``closing`` is the weight of a step's loss in the
    client's mean over its last local epoch.
    """

    start: int
    rows: NDArray[np.int64]
    weights: NDArray[np.float32]
    closing: NDArray[np.float32]

    @property
    def clients(self) -> int:
        """The number of active clients."""
        return int(self.rows.shape[1])


def step_blocks(schedules: Sequence[Schedule], positions: int) -> Iterator[Block]:
    """Yield blocks of schedules, which are sorted from longest to shortest.

    A block ends when a client finishes, and has about ``positions`` positions at most.
    """
    ends = np.array([len(schedule) for schedule in schedules])
    width = max(schedule.rows.shape[1] for schedule in schedules)
    start = 0
    while start < ends[0]:
        active = int(np.searchsorted(-ends, -start, side="left"))
        length = min(int(ends[active - 1]) - start, max(1, positions // (active * width)))
        yield _block(schedules[:active], slice(start, start + length))
        start += length


def _block(schedules: Sequence[Schedule], steps: slice) -> Block:
    counts = np.stack([schedule.counts[steps] for schedule in schedules], axis=1)
    rows = np.empty((*counts.shape, counts.max()), dtype=np.int64)
    for client, schedule in enumerate(schedules):
        own = schedule.rows[steps, : rows.shape[2]]
        rows[:, client, : own.shape[1]] = own
        rows[:, client, own.shape[1] :] = own[:, :1]
    present = np.arange(rows.shape[2]) < counts[:, :, None]
    return Block(
        start=steps.start,
        rows=rows,
        weights=(present / counts[:, :, None]).astype(np.float32),
        closing=np.stack([schedule.closing[steps] for schedule in schedules], axis=1),
    )
