"""The picture of a comparison in a terminal, docs/images/compare.svg: ``python -m tools.terminal``.

The command really runs, with a pipe as its output. Progress and file names are left out, and the
first method is bold, as on a terminal.
"""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from flexcfl.lines import Folded

__all__ = ["main", "picture"]

FILE = Path(__file__).resolve().parent.parent / "docs" / "images" / "compare.svg"
COMMAND = "flexcfl compare"
WIDTH = 100
LEFT_OUT = ("time", "folder", "picture", "report")  # they differ between machines
SETTING = re.compile(r"(\w+ {2,})(\S.*)")


def command_output() -> str:
    """Run the command in a temporary folder, and return its output."""
    flexcfl = Path(sys.executable).with_name("flexcfl")
    width = {"COLUMNS": str(WIDTH), "PYTHONIOENCODING": "utf-8"}
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [flexcfl, *COMMAND.split()[1:]],
            capture_output=True,
            check=True,
            cwd=folder,
            env={**os.environ, **width},
            encoding="utf-8",
        )
    return run.stdout


def picture(text: str) -> str:
    """Return the output of a command as SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(f"$ {COMMAND}", highlight=False)
    rule = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
    before = ""
    for line in text.splitlines():
        if " done after " not in line and line.partition(" ")[0] not in LEFT_OUT:
            console.print(_line(line, "bold" if rule in before else ""), overflow="fold")
        before = line
    return console.export_svg(title=COMMAND, unique_id="compare")


def _line(line: str, style: str) -> RenderableType:
    """Return a line as a terminal shows it: long settings wrap next to their name."""
    setting = SETTING.fullmatch(line)
    return Folded(Text(setting[2]), Text(setting[1])) if setting else Text(line, style)


def main() -> None:
    """Write the picture."""
    FILE.write_text(picture(command_output()), encoding="utf-8", newline="\n")
    print(f"written: {FILE.relative_to(FILE.parents[2])}")


if __name__ == "__main__":
    main()
