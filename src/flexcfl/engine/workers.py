"""Independent pieces of work on all cores: threads, each with one core's worth of torch.

Splitting operators over cores pays little for models this small, and makes results depend on the
number of threads. Splitting the clients does neither: torch lets go of the interpreter inside its
operators.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

__all__ = ["spread"]

Task = TypeVar("Task")
Tool = TypeVar("Tool")
Result = TypeVar("Result")


def spread(
    work: Callable[[Tool, Task], Result], tasks: Sequence[Task], tool: Callable[[], Tool]
) -> list[Result]:
    """Return ``work(tool, task)`` of every task, in order; each thread makes a tool of its own."""
    with _single_core() as cores:
        if min(cores, len(tasks)) < 2:
            own = tool()
            return [work(own, task) for task in tasks]
        kept = threading.local()

        def prepare() -> None:
            kept.tool = tool()

        with ThreadPoolExecutor(min(cores, len(tasks)), initializer=prepare) as pool:
            return list(pool.map(lambda task: work(kept.tool, task), tasks))


@contextmanager
def _single_core() -> Iterator[int]:
    """Give operators one core each, and say how many there are to spread over."""
    cores = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield cores
    finally:
        torch.set_num_threads(cores)
