"""Printing to a terminal or a pipe without breaking a line inside a path, a command or a value."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.style import Style
from rich.text import Text

from flexcfl.errors import printable

__all__ = ["Folded", "bytes_text", "show", "tell", "unbroken"]

# Wider than any table, so that no line is wrapped in a pipe.
PIPE_WIDTH = 10_000
UNBROKEN = Style(meta={"unbroken": True})
UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
JOINED = "\ue000"  # stands for a space at which no line may break


def unbroken(text: str, style: str = "") -> Text:
    """Return a path, a command or a value as text that ``Folded`` does not break."""
    return Text.assemble((text, UNBROKEN), style=style)


@dataclass(frozen=True)
class Folded:
    """A text that is wrapped between words, never inside a word or an ``unbroken`` part.

    A part that is longer than a line is left to the terminal to wrap, so that it can be copied in
    one piece. ``head`` comes before the first line; the other lines are indented by its width. In a
    pipe there is only one line.
    """

    text: Text
    head: Text = field(default_factory=Text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines; with ``overflow="fold"``, as in a picture, long words break too."""
        room = max(options.max_width - self.head.cell_len, 1)
        if options.overflow == "fold":
            lines = iter(self.text.wrap(console, room))
        else:
            lines = _lines(self.text, console, room) if options.is_terminal else iter([self.text])
        head = self.head
        for line in lines:
            yield Text.assemble(head, line, overflow="ignore", no_wrap=True)
            head = Text(" " * self.head.cell_len)


def _lines(text: Text, console: Console, width: int) -> Iterator[Text]:
    joined = text.copy()
    joined.overflow = "ignore"
    characters = list(text.plain)
    for start, end, style in text.spans:
        if isinstance(style, Style) and style.meta.get("unbroken"):
            characters[start:end] = text.plain[start:end].replace(" ", JOINED)
    joined.plain = "".join(characters)
    for line in joined.wrap(console, width):
        line.plain = line.plain.replace(JOINED, " ")
        line.rstrip()
        yield line


def show(shown: RenderableType, console: Console) -> None:
    """Print something; in a pipe, without wrapped lines and trailing spaces."""
    if console.is_terminal:
        console.print(shown, crop=False)
        return
    pipe = Console(file=console.file, width=PIPE_WIDTH, force_terminal=False, color_system=None)
    with pipe.capture() as captured:
        pipe.print(shown, crop=False)
    for line in captured.get().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)


def tell(sentence: str, console: Console) -> None:
    """Print a sentence on one line, with control characters escaped."""
    console.print(printable(sentence), markup=False, highlight=False, soft_wrap=True)


def bytes_text(size: int) -> str:
    """Return a number of bytes as text.

    >>> bytes_text(393_000_000), bytes_text(1_300_000_000), bytes_text(999)
    ('393 MB', '1.3 GB', '999 bytes')
    """
    for unit, factor in UNITS:
        if size >= factor:
            number = size / factor
            return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"
    return f"{size} bytes"
