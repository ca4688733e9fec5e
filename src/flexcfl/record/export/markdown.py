"""Markdown into which anything can be put: names from files stay names, whatever is in them."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from flexcfl.errors import printable

__all__ = ["fenced", "front_matter", "plain", "table"]

# What CommonMark takes as itself behind a backslash; of it all that can mean anything else.
MEANING = re.compile(r"([\\`*_{}\[\]()<>#+!|~&$@:/-])")


def plain(text: object) -> str:
    r"""Return a text that is read as it is written, in a line, a cell or a heading.

    >>> print(plain("a|b <b>"))
    a\|b \<b\>
    """
    return MEANING.sub(r"\\\1", printable(str(text)))


def fenced(language: str, text: str) -> str:
    """Return a block of code, between fences that are not in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table, whose cells are taken as they are."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def front_matter(entries: Mapping[str, Any]) -> str:
    """Return YAML between lines of dashes; each value is JSON, which YAML understands."""
    lines = [
        f"{key}: {json.dumps(_safe(value), ensure_ascii=False)}" for key, value in entries.items()
    ]
    return "\n".join(["---", *lines, "---"])


def _safe(value: Any) -> Any:
    """Return a value whose texts hold nothing that cannot be seen, which YAML does not take."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {key: _safe(each) for key, each in value.items()}
    return [_safe(each) for each in value] if isinstance(value, list | tuple) else value
