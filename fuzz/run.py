"""Let atheris, which looks for bytes that reach new lines of code, look for a parser's mistakes.

    python fuzz/run.py [TARGET ...] [--seconds N] [--inputs N]

It takes one target after the other, all of them by default. It ends with 0 where it found nothing,
and else with the bytes that it found. Seeds and findings are in a folder that goes when it ends.
Reference: https://github.com/google/atheris (libFuzzer).
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
# What of Python's own library is parsed with in Python, and our own; torch has no part in it.
TRACED = [
    *("flexcfl.record.checkpoints", "flexcfl.data", "flexcfl.runner", "flexcfl.settings"),
    *("tomllib", "gzip", "json", "csv"),
]
LONGEST_ENTRY = 64  # of libFuzzer's dictionaries, in bytes
MISSING = "atheris is not installed here: 'pip install atheris' (Linux on x86-64)."


def main() -> int:
    """Run the targets and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = "idx, gzip, leaf, toml, words, checkpoint, arrays or tables (default: all)"
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=known)
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    most = "for each target (default: as many as there is time for)"
    parser.add_argument("--inputs", type=int, default=-1, metavar="N", help=most)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if find_spec("atheris") is None:
        parser.error(MISSING)
    if arguments.folder:
        return _fuzz(arguments)
    # libFuzzer ends its process at once, so that only another one can tidy up after it.
    with TemporaryDirectory(prefix="flexcfl-fuzz-") as folder:
        command = [sys.executable, __file__, *sys.argv[1:], "--folder", folder]
        code = subprocess.run(command, check=False).returncode
        for found in sorted(Path(folder).glob("*/found-*")):
            name = f"{found.parent.name} {found.name}"
            sys.stdout.write(f"{name}: {found.read_bytes()!r}\n")
    return code


def _fuzz(arguments: argparse.Namespace) -> int:
    """Fuzz each target in a fork of this process, which has imported what takes long."""
    atheris: Any = import_module("atheris")
    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=TRACED):
        targets = import_module("fuzz.targets")
    names: Sequence[str] = arguments.targets
    unknown = [name for name in names if name not in targets.TARGETS]
    if unknown:
        known = ", ".join(targets.TARGETS)
        sys.exit(f"There is no target '{unknown[0]}': choose one of {known}.")
    codes = []
    for name in names or targets.TARGETS:
        sys.stderr.write(f"Target {name}\n")
        sys.stderr.flush()
        child = os.fork()
        if not child:
            _fuzz_one(atheris, targets, name, arguments)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return next((code for code in codes if code), 0)


def _fuzz_one(atheris: Any, targets: Any, name: str, arguments: argparse.Namespace) -> None:
    """Let libFuzzer have this process, which it ends."""
    judged, target = import_module("fuzz.harness").judged, targets.TARGETS[name]
    folder = arguments.folder / name
    seeds, place = folder / "seeds", folder / "place"
    seeds.mkdir(parents=True)
    place.mkdir()
    for number, seed in enumerate(target.seeds):
        (seeds / str(number)).write_bytes(seed)
        judged(target, place, seed)  # what is imported and made once is no parser's doing
    options = _options(folder, targets.TOKENS)
    options += [f"-max_total_time={arguments.seconds}", f"-runs={arguments.inputs}"]
    atheris.Setup(
        [sys.argv[0], *options, str(seeds)], lambda content: judged(target, place, content)
    )
    atheris.Fuzz()


def _options(folder: Path, tokens: Iterable[bytes]) -> list[str]:
    """Return the options of libFuzzer, with a dictionary of what has a meaning to a parser."""
    dictionary = folder / "dictionary"
    entries = ("".join(map(r"\x{:02x}".format, token[:LONGEST_ENTRY])) for token in tokens)
    dictionary.write_text("".join(f'"{entry}"\n' for entry in entries))
    return [
        f"-dict={dictionary}",
        f"-artifact_prefix={folder}/found-",
        *("-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-print_final_stats=1"),
    ]


if __name__ == "__main__":
    sys.exit(main())
