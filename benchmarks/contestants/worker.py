"""A contestant's process: one JSON line in for every round, one out with the time it took.

It is started as ``python -m contestants.worker NAME FILE WORK`` and says ``{"ready": versions}``.
To ``{"round": n}`` it answers with seconds, steps and accuracy. It ends with its input.
"""

import importlib
import importlib.metadata
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from contestants.task import Contestant, Task

__all__ = ["main"]


@contextmanager
def own_streams() -> Iterator[tuple[TextIO, TextIO]]:
    """Keep input and output for the driver: what frameworks print goes to the error stream."""
    with (
        os.fdopen(os.dup(0), encoding="utf-8") as orders,
        os.fdopen(os.dup(1), "w", encoding="utf-8") as answers,
    ):
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        yield orders, answers


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Return what is installed."""
    return {name: importlib.metadata.version(name) for name in packages}


def answer(task: Task, contestant: Contestant, number: int) -> dict[str, float]:
    """Let the contestant do a round; only that is timed."""
    start = time.perf_counter()
    steps = contestant.round(number)
    seconds = time.perf_counter() - start
    scores = contestant.scores(task.x[task.probe])
    return {"seconds": seconds, "steps": steps, "accuracy": task.accuracy(scores)}


def main(name: str, path: str, work: str) -> int:
    """Run one contestant until its input ends; return the exit code."""
    with own_streams() as (orders, answers):

        def say(message: dict[str, object]) -> None:
            print(json.dumps(message), file=answers, flush=True)

        try:
            module = importlib.import_module(f"contestants.{name}")
            task = Task.read(Path(path), work)

            def serve(contestant: Contestant) -> None:
                say({"ready": versions(module.PACKAGES)})
                for line in orders:
                    say({**answer(task, contestant, json.loads(line)["round"])})

            module.run(task, serve)
        except Exception as error:
            traceback.print_exc()
            say({"error": f"{type(error).__name__}: {error}"})
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
