"""Docstrings as the API reference shows them: sessions as code, formulas as the LaTeX they are."""

import re
from typing import Any

from griffe import Extension, Object

__all__ = ["AsMarkdown", "as_markdown"]

SESSION = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class AsMarkdown(Extension):
    """Turns what Markdown would misread into Markdown, for every object that is loaded."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite a docstring where there is one."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Return a docstring with fenced sessions, without Sphinx's word for formulas.

    To draw formulas takes a script from a network, so they stay as they are written. Sections are
    indented, and sessions in them are found by their own reader.
    """
    text = re.sub(r":math:(?=`)", "", text)
    text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
    return SESSION.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
