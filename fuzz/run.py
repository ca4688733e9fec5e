"""Let atheris, which looks for bytes that reach new lines of code, look for a parser's mistakes.

    python fuzz/run.py TARGET [--seconds N]

It ends with 0 where it found nothing, and else with the bytes that it found. Seeds and findings are
in a folder that goes when it ends. Reference: https://github.com/google/atheris (libFuzzer).
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
# What of Python's own library is parsed with in Python, and our own; torch has no part in it.
TRACED = [
    *("flexcfl.checkpoints", "flexcfl.data", "flexcfl.runner", "flexcfl.settings"),
    *("tomllib", "tomli", "gzip", "json", "csv"),
]
LONGEST_ENTRY = 64  # of libFuzzer's dictionaries, in bytes
MISSING = "atheris is not installed here: 'pip install atheris' (Linux, Python 3.11 or newer)."


def main() -> int:
    """Run one target and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", help="idx, gzip, leaf, toml, words, checkpoint, arrays or tables")
    parser.add_argument("--seconds", type=int, default=60, help="when to stop (default: 60)")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if find_spec("atheris") is None:
        parser.error(MISSING)
    if arguments.folder:
        _fuzz(arguments.target, arguments.seconds, arguments.folder)
    # libFuzzer ends its process at once, so that only another one can tidy up after it.
    with TemporaryDirectory(prefix="flexcfl-fuzz-") as folder:
        command = [sys.executable, __file__, *sys.argv[1:], "--folder", folder]
        code = subprocess.run(command, check=False).returncode
        for found in sorted(Path(folder).glob("found-*")):
            sys.stdout.write(f"{found.name}: {found.read_bytes()!r}\n")
    return code


def _fuzz(name: str, seconds: int, folder: Path) -> None:
    atheris: Any = import_module("atheris")
    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=TRACED):
        targets = import_module("fuzz.targets")
    if name not in targets.TARGETS:
        sys.exit(f"There is no target '{name}': choose one of {', '.join(targets.TARGETS)}.")
    judged, target = import_module("fuzz.harness").judged, targets.TARGETS[name]
    seeds, place = folder / "seeds", folder / "place"
    seeds.mkdir()
    place.mkdir()
    for number, seed in enumerate(target.seeds):
        (seeds / str(number)).write_bytes(seed)
        judged(target, place, seed)  # what is imported and made once is no parser's doing
    options = _options(seconds, folder, targets.TOKENS)
    atheris.Setup(
        [sys.argv[0], *options, str(seeds)], lambda content: judged(target, place, content)
    )
    atheris.Fuzz()


def _options(seconds: int, folder: Path, tokens: Iterable[bytes]) -> list[str]:
    """Return the options of libFuzzer, with a dictionary of what has a meaning to a parser."""
    dictionary = folder / "dictionary"
    entries = ("".join(map(r"\x{:02x}".format, token[:LONGEST_ENTRY])) for token in tokens)
    dictionary.write_text("".join(f'"{entry}"\n' for entry in entries))
    return [
        f"-dict={dictionary}",
        f"-artifact_prefix={folder}/found-",
        f"-max_total_time={seconds}",
        *("-timeout=10", "-rss_limit_mb=2048", "-max_len=4096", "-print_final_stats=1"),
    ]


if __name__ == "__main__":
    sys.exit(main())
