"""Docstrings as the API reference shows them: sessions as code, formulas as LaTeX."""

import re
from typing import Any

from griffe import Extension, Object

__all__ = ["AsMarkdown", "as_markdown"]

SESSION = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class AsMarkdown(Extension):
    """Converts the docstrings of all loaded objects to Markdown."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring, if there is one."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Return a docstring with fenced sessions, and without Sphinx's role for formulas.

    Rendering formulas needs a script from the network, so they stay as LaTeX. Sections are
    indented; the reader of the sections finds the sessions in them.
    """
    text = re.sub(r":math:(?=`)", "", text)
    text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
    return SESSION.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
