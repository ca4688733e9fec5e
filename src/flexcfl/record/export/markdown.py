"""Markdown with escaped text, so that names from files cannot become markup."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from flexcfl.errors import printable

# The special characters of CommonMark, all of which a backslash escapes.
MEANING = re.compile(r"([\\`*_{}\[\]()<>#+!|~&$@:/-])")


def plain(text: object) -> str:
    r"""Return a text, escaped for a line, a table cell or a heading.

    >>> print(plain("a|b <b>"))
    a\|b \<b\>
    """
    return MEANING.sub(r"\\\1", printable(str(text)))


def fenced(language: str, text: str) -> str:
    """Return a block of code between fences longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table; its cells are not escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def front_matter(entries: Mapping[str, Any]) -> str:
    """Return YAML between lines of dashes; each value is JSON, which is valid YAML."""
    lines = [
        f"{key}: {json.dumps(_safe(value), ensure_ascii=False)}" for key, value in entries.items()
    ]
    return "\n".join(["---", *lines, "---"])


def _safe(value: Any) -> Any:
    """Return a value without unprintable characters, which YAML does not allow."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {key: _safe(each) for key, each in value.items()}
    return [_safe(each) for each in value] if isinstance(value, list | tuple) else value
