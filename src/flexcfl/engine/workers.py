"""Independent tasks on all cores, by threads in which torch uses one core each.

Splitting operators over cores gains little for such small models, and makes results depend on the
number of threads. Splitting the clients has neither problem: torch releases the interpreter lock
inside its operators.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Generic, TypeVar

import torch

_at_work: list[int] = []  # one entry for every thread that runs tasks

Task = TypeVar("Task")
Tool = TypeVar("Tool")
Result = TypeVar("Result")


class ResourcePool(Generic[Tool]):
    """Tools that are made on demand, reused, and used by one thread at a time."""

    def __init__(self, make: Callable[[], Tool]) -> None:
        self._make = make
        self._free: list[Tool] = []

    @contextmanager
    def borrowed(self) -> Iterator[Tool]:
        """Provide a tool that no other thread uses."""
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
    """Return ``work(tool, task)`` of every task, in order; each thread has a tool of its own.

    The calling thread works, too. Threads take the next task from a shared iterator, because
    submitting each one would cost as much as a small task.
    """
    results: dict[int, Result] = {}
    left = iter(range(len(tasks)))

    def take() -> None:
        _at_work.append(threading.get_ident())
        try:
            with tools.borrowed() as tool:
                for index in left:
                    results[index] = work(tool, tasks[index])
        except BaseException:
            for _ in left:  # no thread should begin another task
                pass
            raise
        finally:
            _at_work.remove(threading.get_ident())

    with _single_core as cores:
        helpers = min(cores, len(tasks)) - 1
        helping = [_helpers(os.getpid(), cores).submit(take) for _ in range(helpers)]
        try:
            take()
        except Exception:  # an interrupt does not wait
            wait(helping)
            raise
        wait(helping)
        for each in helping:
            each.result()
    return [results[index] for index in range(len(tasks))]


def busy() -> bool:
    """Whether any thread is still running tasks."""
    return bool(_at_work)


@cache
def _helpers(_process: int, cores: int) -> ThreadPoolExecutor:
    """Return a pool of threads, which is kept because starting threads takes as long as a task.

    A forked process has none of its parent's threads, so it gets a pool of its own.
    """
    return ThreadPoolExecutor(cores - 1, thread_name_prefix="flexcfl-engine")


class _SingleCore:
    """A context in which torch uses one thread; entering it returns the usual number of threads.

    Torch keeps this number per thread, and a new thread inherits the last one set anywhere: without
    a count of the contexts, a second one would read 1 and restore 1.
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
