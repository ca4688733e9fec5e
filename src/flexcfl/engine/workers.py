"""Independent pieces of work on all cores: threads, each with one core's worth of torch.

Splitting operators over cores pays little for models this small, and makes results depend on the
number of threads. Splitting the clients does neither: torch lets go of the interpreter inside its
operators.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import TypeVar

import torch

__all__ = ["THREADS", "spread"]

THREADS = "flexcfl-engine"

Task = TypeVar("Task")
Tool = TypeVar("Tool")
Result = TypeVar("Result")


def spread(
    work: Callable[[Tool, Task], Result], tasks: Sequence[Task], tool: Callable[[], Tool]
) -> list[Result]:
    """Return ``work(tool, task)`` of every task, in order; each thread makes a tool of its own."""
    with _single_core as cores:
        workers = max(1, min(cores, len(tasks)))
        # Made here and not in the threads, so that what goes wrong is told as it is.
        tools = Queue[Tool]()
        for _ in range(workers):
            tools.put(tool())

        def done(task: Task) -> Result:
            own = tools.get()
            try:
                return work(own, task)
            finally:
                tools.put(own)

        if workers == 1:
            return [done(task) for task in tasks]
        pool = ThreadPoolExecutor(workers, thread_name_prefix=THREADS)
        try:
            return list(pool.map(done, tasks))
        finally:
            # Whoever interrupts need not wait for the clients that are being trained.
            pool.shutdown(wait=False, cancel_futures=True)


class _SingleCore:
    """Whoever is inside has one core for its operators, and knows how many there are in all.

    Torch keeps the number for each thread, and a new thread takes over the last one set anywhere:
    whoever comes second would find 1 and leave it behind.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = self._cores = 0

    def __enter__(self) -> int:
        with self._lock:
            if self._inside == 0:
                self._cores = torch.get_num_threads()
            self._inside += 1
            torch.set_num_threads(1)
            return self._cores

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            torch.set_num_threads(self._cores)


_single_core = _SingleCore()
