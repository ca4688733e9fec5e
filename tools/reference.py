"""Generate the pages and regions that come from code and results: ``python -m tools.reference``."""

from pathlib import Path

from tools import commands, measured, replication, settings

__all__ = ["PAGES", "main"]

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = {
    DOCS / "commands.md": commands.page,
    DOCS / "settings.md": settings.page,
    DOCS / "replication.md": replication.page,
    **measured.pages(),
}


def main() -> None:
    """Write every page, and print its path."""
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8", newline="\n")
        print(f"written: {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
