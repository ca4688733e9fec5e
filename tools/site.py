"""Additions of the documentation site to docs/: further pages and pictures, and adapted links.

Pages are written for the repository, where ``../results/table3.md`` is a file. In the site docs/ is
the root, so files from outside keep their path below it, and links point to their new place. A link
to a file that is not in the site, such as the source, becomes plain text.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

__all__ = ["brought", "in_site", "on_files", "on_page_markdown"]

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs"
# Files outside docs/; the README is not among them, because the site has its own home page.
BROUGHT = (
    *("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/*.md"),
    *("results/*.md", "results/*.svg", "results/*.csv"),
)
GONE_TO = {"README.md": "index.md"}
LINK = re.compile(
    r"(?P<picture>!?)\[(?P<words>[^\[\]]*)\]\((?P<target>[^()#\s]+)(?P<anchor>#\S*)?\)"
)


def brought() -> Iterator[str]:
    """Yield the files outside docs/ that the site has."""
    for pattern in BROUGHT:
        yield from sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add files from outside docs/ to the site, with the same paths."""
    from mkdocs.structure.files import File

    for path in brought():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Point the links of a page to their targets in the site."""
    here = page.file.src_uri
    inside = (ROOT / DOCS / here).is_file()
    folder = PurePosixPath(DOCS if inside else ".", here).parent

    def turned(found: re.Match[str]) -> str:
        if "://" in found["target"]:
            return found[0]
        target = os.path.normpath(folder / found["target"]).replace(os.sep, "/")
        there = in_site(target)
        if files.get_file_from_path(there) is None and (ROOT / target).exists():
            return found["words"]
        link = os.path.relpath(there, PurePosixPath(here).parent).replace(os.sep, "/")
        return f"{found['picture']}[{found['words']}]({link}{found['anchor'] or ''})"

    return LINK.sub(turned, markdown)


def in_site(path: str) -> str:
    """Return the path of a file of the repository in the site.

    >>> in_site("docs/drift.md"), in_site("results/table3.md"), in_site("README.md")
    ('drift.md', 'results/table3.md', 'index.md')
    """
    return GONE_TO.get(path, path.removeprefix(f"{DOCS}/"))
