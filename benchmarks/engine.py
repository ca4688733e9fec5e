"""Measure how fast cohorts are trained, compared with a plain PyTorch loop and the machine's limit.

W1 to W3 are the real MNIST federation with the paper's settings (FedAvg, K=20, E=10, B=10), W5 is
Fashion-MNIST, W6 Synthetic(1,1). W4 is a whole run of FlexCFL on W1 under swap-all.

Example: python benchmarks/engine.py --data DIR
"""

from pathlib import Path

import common
from rich.console import Console
from rich.progress import Progress

from flexcfl.benchmark import WORKS, StepTimes, machine, measure
from flexcfl.benchmark.full_run import FullRun, full_run
from flexcfl.benchmark.machine import peak_memory
from flexcfl.benchmark.measure import CAPTION, markdown
from flexcfl.errors import FlexcflError

WHOLE = "W4"
ROUNDS = {"W1": 9, "W2": 9, "W3": 3, "W5": 2, "W6": 5, WHOLE: 300}
MEGABYTE = 1e6


def measured(name: str, data: Path | None, rounds: int, console: Console) -> StepTimes:
    """Measure one workload, with a progress bar."""
    federation = WORKS[name].federation(data)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{name}, {WORKS[name].title}", total=2 * (rounds + 1))
        return measure(WORKS[name], federation, rounds, lambda: progress.advance(task))


def whole(data: Path | None, rounds: int, console: Console) -> FullRun:
    """Measure a whole run, with a progress bar."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{WHOLE}, a whole run of FlexCFL", total=rounds)
        return full_run(data, rounds, lambda: progress.advance(task))


def sentence(run: FullRun) -> str:
    """Print the times of a whole run."""
    return (
        f"{WHOLE}: {run.rounds} rounds of FlexCFL in {run.seconds:.1f} s, of which client steps "
        f"{run.training:.1f} s and evaluation {run.evaluation:.1f} s: {run.ratio:.2f} times the "
        f"client steps. Peak memory {run.memory / MEGABYTE:,.0f} MB, after a tenth of the rounds "
        f"{run.early_memory / MEGABYTE:,.0f} MB."
    )


def main() -> None:
    """Read the options, measure, and print the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder of the data (or FLEXCFL_DATA)")
    parser.add_argument("--works", nargs="+", choices=ROUNDS, default=list(ROUNDS), metavar="W")
    parser.add_argument("--rounds", type=int, help="rounds, instead of the workload's own number")
    options = parser.parse_args()
    console = Console(stderr=True)
    print(machine())
    found = []
    try:
        for name in options.works:
            rounds = options.rounds or ROUNDS[name]
            if name == WHOLE:
                print(sentence(whole(options.data, rounds, console)), flush=True)
            else:
                found.append(measured(name, options.data, rounds, console))
                steps, path = found[-1].steps, found[-1].path
                print(f"{name}: {steps:,} client steps on the {path} path", flush=True)
    except FlexcflError as error:
        parser.error(str(error))
    if found:
        print(f"\n{markdown(found)}\n\n{CAPTION}")
    print(f"Peak memory of this process: {peak_memory() / MEGABYTE:,.0f} MB.")


if __name__ == "__main__":
    main()
