"""What a power cut leaves of calls that changed the disk: for certain only what was flushed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tests.reliability.faults import Call

__all__ = ["Choice", "Left", "by_chance", "found", "left_over", "put"]

Left: TypeAlias = dict[Path, bytes | None]  # files by their names, folders as None
Choice: TypeAlias = Callable[[], bool]  # whether unflushed operations have happened


@dataclass(eq=False)
class _File:
    content: bytes = b""
    safe: bytes = b""


@dataclass(eq=False)
class _Folder:
    entries: dict[str, Any] = field(default_factory=dict)
    safe: dict[str, Any] = field(default_factory=dict)

    def at(self, path: Path) -> Any:
        found: Any = self
        for part in path.parts:
            found = found.entries.get(part) if isinstance(found, _Folder) else None
        return found


def left_over(
    calls: Iterable[Call], names: Choice, contents: Choice, before: Left | None = None
) -> Left:
    """Return the content of the disk if the power fails after these calls.

    ``names`` is asked of every name in a folder that was made, given or removed since the folder
    was last waited for, ``contents`` of every file. What was there ``before`` was safe.
    """
    root = _read(before or {})
    for call in calls:
        _replay(root, call)
    return dict(_fallen(root, Path(), names, contents))


def _read(before: Left) -> _Folder:
    root = _Folder()
    for path, content in before.items():
        folder = root.at(path.parent)
        new = _Folder() if content is None else _File(content, content)
        folder.entries[path.name] = folder.safe[path.name] = new
    return root


def _replay(root: _Folder, call: Call) -> None:
    folder, name, here = root.at(call.path.parent), call.path.name, root.at(call.path)
    match call.name:
        case "open":
            file = folder.entries.setdefault(name, _File())
            file.content = b"" if call.extra else file.content
        case "write":
            here.content += call.extra
        case "ftruncate":
            here.content = here.content[: call.extra]
        case "fsync" if isinstance(here, _Folder):
            here.safe = dict(here.entries)
        case "fsync":
            here.safe = here.content
        case "mkdir":
            folder.entries[name] = _Folder()
        case "replace":
            root.at(call.extra.parent).entries[call.extra.name] = folder.entries.pop(name)
        case "unlink" | "rmdir":
            del folder.entries[name]


def _fallen(
    folder: _Folder, path: Path, names: Choice, contents: Choice
) -> Iterable[tuple[Path, bytes | None]]:
    for name in sorted(folder.entries.keys() | folder.safe.keys()):
        now, safe = folder.entries.get(name), folder.safe.get(name)
        found = now if now is not safe and names() else safe
        if isinstance(found, _Folder):
            yield path / name, None
            yield from _fallen(found, path / name, names, contents)
        elif found is not None:
            happened = found.content != found.safe and contents()
            yield path / name, found.content if happened else found.safe


def found(root: Path) -> Left:
    """Return the content of a folder."""
    paths = sorted(root.rglob("*"))
    return {path.relative_to(root): None if path.is_dir() else path.read_bytes() for path in paths}


def put(left: Left, root: Path) -> None:
    """Make a folder with this content."""
    root.mkdir()
    for path, content in left.items():
        if content is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(content)


def by_chance(seed: int) -> Choice:
    """Return a choice that a seed makes."""
    rng = np.random.default_rng(seed)
    return lambda: bool(rng.integers(2))
