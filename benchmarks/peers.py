"""Measure how fast federated simulators, including ours, train the same cohorts.

Real MNIST federation, FedAvg's local work with the paper's settings (K=20, E=10, B=10, rate 0.03).
Every contestant is a process of its own (``contestants/``), the peers in virtual environments of
their own, which are made from PyPI and kept for the next time. Within a round all take turns on the
same clients, one at a time, and all start from the same model; the first round is repeated as a
warm-up. What is timed is the training of the cohort and the average. Where torch without CUDA is
wanted, set PIP_EXTRA_INDEX_URL to PyTorch's own index of such builds.

Example: python benchmarks/peers.py --data DIR
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import common
import numpy as np
import pooch
from contestants import environments
from contestants.catalogue import CATALOGUE, Entry
from contestants.errors import ContestantError
from contestants.match import Match
from contestants.process import Process
from contestants.report import load, markdown
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from flexcfl.benchmark import WORKS as ALL_WORKS
from flexcfl.benchmark import machine
from flexcfl.benchmark.work import COHORT, LOCAL, cohort
from flexcfl.data import Federation, load_federation
from flexcfl.errors import FlexcflError
from flexcfl.models import build, initialised
from flexcfl.seeds import generator

WORKS = {
    work.model: f"{name}: {work.title}"
    for name, work in ALL_WORKS.items()
    if work.dataset == "mnist"
}
PROBE = 2000  # test examples that show whether a model has learnt
RESULTS = Path(__file__).parent / "results.md"


def write(federation: Federation, works: Sequence[str], rounds: int, path: Path) -> None:
    """Write the one file that all contestants read."""
    train, size = federation.train, min(COHORT, federation.clients)
    cohorts = [cohort(federation, number, size) for number in range(rounds)]
    arrays = {
        "x": federation.x,
        "y": federation.y,
        "indices": train.indices,
        "offsets": train.offsets,
        "cohorts": np.stack(cohorts),
        "probe": generator(0, "probe").permutation(federation.test.indices)[:PROBE],
        **{name: np.array(getattr(LOCAL, name)) for name in ("epochs", "batch", "rate")},
    }
    for work in works:
        arrays |= {f"initial/{work}/{name}": a for name, a in first_model(federation, work).items()}
    np.savez(path, **arrays)  # type: ignore[arg-type]


def first_model(federation: Federation, work: str) -> dict[str, NDArray[np.float32]]:
    """Return the initial parameters by name, the same for all contestants."""
    factory = partial(build, "mnist", work, federation.shape, federation.classes)
    module = initialised(factory, generator(0, "initial"))
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def install(
    entries: Mapping[str, Entry], folder: Path, console: Console
) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the Python of every contestant, and the reason if it has none."""
    pythons, absent = {}, {}
    for name, entry in entries.items():
        try:
            with console.status(f"Preparing the environment of {entry.label({})}"):
                pythons[name] = (
                    environments.ready(folder / name, entry.installs)
                    if entry.installs
                    else Path(sys.executable)
                )
        except ContestantError as failure:
            absent[name] = str(failure)
            console.print(f"{entry.label({})} {failure}", highlight=False, soft_wrap=True)
    return pythons, absent


def start(name: str, entry: Entry, python: Path, file: Path, work: str, timeout: float) -> Process:
    """Start a contestant on one workload."""
    command = [str(python), "-m", "contestants.worker", entry.script, str(file), work]
    log = file.with_name(f"{name}-{work}.log")
    return Process(command, log, timeout, entry.threads)


@contextmanager
def progress(console: Console, total: int) -> Iterator[Callable[[str, str, str], None]]:
    """Show on stderr which contestant is running."""
    columns = TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("", total=total)

        def tell(work: str, name: str, what: str) -> None:
            shown.update(task, description=f"{work}, {what}: {name}", advance=1)

        yield tell


def compare(
    federation: Federation,
    entries: Mapping[str, Entry],
    works: Sequence[str],
    rounds: int,
    folder: Path,
    timeout: float,
) -> str:
    """Install all contestants, let each do every workload, and return the report."""
    console, before = Console(stderr=True), load()
    pythons, absent = install(entries, folder, console)
    matches = []
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
        progress(console, len(works) * len(pythons) * (rounds + 2)) as tell,
    ):
        file = Path(scratch, "federation.npz")
        write(federation, works, rounds, file)
        for work in works:
            match = Match(work, partial(tell, work))
            match.play(
                {
                    name: partial(start, name, entries[name], python, file, work, timeout)
                    for name, python in pythons.items()
                },
                rounds,
            )
            matches.append(match)
    parts = [
        f"MNIST among {federation.clients:,} clients, {COHORT} a round; {LOCAL.epochs} epochs "
        f"of batches of {LOCAL.batch} at rate {LOCAL.rate}; {rounds} rounds after a warm-up.",
        markdown(entries, matches, WORKS, absent),
        f"Machine: {machine()}; load average {before} before and {load()} after.",
    ]
    return "\n\n".join(parts) + "\n"


def chosen(peers: Sequence[str] | None) -> dict[str, Entry]:
    """Return the requested peers, and those that always take part."""
    return {
        name: entry
        for name, entry in CATALOGUE.items()
        if peers is None or name in peers or not entry.installs
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, print the table and write it."""
    parser = common.parser(__doc__)
    peers = [name for name, entry in CATALOGUE.items() if entry.installs]
    kept = Path(pooch.os_cache("flexcfl")) / "peers"
    parser.add_argument("--data", type=Path, help="folder that holds mnist/ (or FLEXCFL_DATA)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take the median of (5)")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS), metavar="W")
    parser.add_argument("--peers", nargs="*", choices=peers, metavar="P", help=", ".join(peers))
    parser.add_argument("--environments", type=Path, default=kept, help="where they are kept")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for each step (900)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file to write")
    parser.add_argument("--clean", action="store_true", help="remove the environments and stop")
    options = parser.parse_args(arguments)
    if options.clean:
        print("Removed:", ", ".join(environments.clean(options.environments)) or "nothing")
        return
    try:
        federation = load_federation("mnist", options.data)
    except FlexcflError as error:
        parser.error(str(error))
    entries, folder = chosen(options.peers), options.environments
    try:
        report = compare(
            federation, entries, options.works, options.rounds, folder, options.timeout
        )
    except KeyboardInterrupt:
        parser.exit(130, "Interrupted; nothing was written.\n")
    options.results.write_text(f"# Beside other simulators\n\n{report}", encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
