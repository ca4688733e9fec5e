"""What the documentation site adds to docs/: pages and pictures of the repository, and its links.

Pages are written for the repository's own view, where ``../results/table3.md`` is a file. In the
site docs/ is the root, so files from outside keep their path below it, and links are turned to
where their target has gone. A link to a file that the site does not hold, such as the source, keeps
its words alone.
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
# From outside docs/; the README is not among them, for the site has a home page of its own.
BROUGHT = (
    *("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/*.md"),
    *("results/*.md", "results/*.svg", "results/*.csv"),
)
GONE_TO = {"README.md": "index.md"}
LINK = re.compile(
    r"(?P<picture>!?)\[(?P<words>[^\[\]]*)\]\((?P<target>[^()#\s]+)(?P<anchor>#\S*)?\)"
)


def brought() -> Iterator[str]:
    """Yield the files of the repository that the site has beside docs/."""
    for pattern in BROUGHT:
        yield from sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Bring files from outside docs/ into the site, under the paths that they have."""
    from mkdocs.structure.files import File

    for path in brought():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Turn the links of a page to where their targets are in the site."""
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
    """Return where a file of the repository is in the site.

    >>> in_site("docs/drift.md"), in_site("results/table3.md"), in_site("README.md")
    ('drift.md', 'results/table3.md', 'index.md')
    """
    return GONE_TO.get(path, path.removeprefix(f"{DOCS}/"))
