"""Independent pieces of work on all cores: threads, each with one core's worth of torch.

Splitting operators over cores pays little for models this small, and makes results depend on the
number of threads. Splitting the clients does neither: torch lets go of the interpreter inside its
operators.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Generic, TypeVar

import torch

__all__ = ["ResourcePool", "busy", "run_in_threads"]

_at_work: list[int] = []  # one entry for every thread that does tasks

Task = TypeVar("Task")
Tool = TypeVar("Tool")
Result = TypeVar("Result")


class ResourcePool(Generic[Tool]):
    """Tools that are made when they are first needed, kept, and used by one thread at a time."""

    def __init__(self, make: Callable[[], Tool]) -> None:
        self._make = make
        self._free: list[Tool] = []

    @contextmanager
    def borrowed(self) -> Iterator[Tool]:
        """Lend a tool that nobody else has."""
        try:
            tool = self._free.pop()
        except IndexError:
            tool = self._make()
        try:
            yield tool
        finally:
            self._free.append(tool)


def run_in_threads(
    work: Callable[[Tool, Task], Result], tasks: Sequence[Task], tools: ResourcePool[Tool]
) -> list[Result]:
    """Return ``work(tool, task)`` of every task, in order, each thread with a tool of its own.

    Whoever calls works as well. Threads take the next task when they are done with one: to hand
    out every single one would cost as much as a small task takes.
    """
    results: dict[int, Result] = {}
    left = iter(range(len(tasks)))

    def take() -> None:
        _at_work.append(threading.get_ident())
        try:
            with tools.borrowed() as tool:
                for place in left:
                    results[place] = work(tool, tasks[place])
        except BaseException:
            for _ in left:  # nobody shall begin another one
                pass
            raise
        finally:
            _at_work.remove(threading.get_ident())

    with _single_core as cores:
        helpers = min(cores, len(tasks)) - 1
        helping = [_helpers(os.getpid(), cores).submit(take) for _ in range(helpers)]
        try:
            take()
        except Exception:  # but whoever interrupts need not wait
            wait(helping)
            raise
        wait(helping)
        for each in helping:
            each.result()
    return [results[place] for place in range(len(tasks))]


def busy() -> bool:
    """Whether any thread is still doing tasks."""
    return bool(_at_work)


@cache
def _helpers(_process: int, cores: int) -> ThreadPoolExecutor:
    """Return threads that are kept, because to start them takes as long as a small task.

    A process that was forked has none of its parent's threads, and so gets its own.
    """
    return ThreadPoolExecutor(cores - 1, thread_name_prefix="flexcfl-engine")


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
