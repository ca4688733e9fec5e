"""A folder of checkpoints: the last few are kept, and unchanged arrays are not written again."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from flexcfl import disk
from flexcfl.record.checkpoints import layout

KEPT = 2
LIVE = 1 / 4  # the share of a file that must be in use; below it, its arrays are written again


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The state after a round: JSON, in which numbers stand for arrays, and the arrays."""

    round: int
    content: Any
    arrays: Sequence[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class FoundCheckpoint:
    """A checkpoint that was found in a folder, and its manifest."""

    checkpoint: Checkpoint
    manifest: layout.Manifest


@dataclass(frozen=True, eq=False)
class _Place:
    """Where an array is stored; the reference keeps its ``id`` from being reused."""

    array: NDArray[Any]
    file: layout.File
    number: int


@dataclass(eq=False)
class Store:
    """The checkpoints of one run; only one process may write them at a time.

    Arrays never change once they are passed to ``save``, so an array that the newest checkpoint
    already contains is recognised by its ``id``. The last ``keep`` checkpoints are kept; ``_kept``
    are their manifests, newest last.
    """

    folder: Path
    keep: int = KEPT
    _kept: list[layout.Manifest] = field(default_factory=list)
    _known: Mapping[int, _Place] = field(default_factory=dict)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint, wait until it is on disk, and remove all but the last few."""
        disk.make_folder(self.folder)
        arrays = {id(array): array for array in checkpoint.arrays}
        old = self._still_good(arrays)
        parts, new = _packed(
            checkpoint.round, [array for key, array in arrays.items() if key not in old]
        )
        known = {**old, **new}
        manifest = _manifest(checkpoint, known)
        last: list[disk.Bytes] = [layout.manifest_bytes(manifest)]
        files = {**parts, _name(manifest): last}
        disk.write_in_order({self.folder / name: content for name, content in files.items()})
        others = [each for each in self._kept if each.round != manifest.round]
        self._kept, self._known = [*others, manifest][-self.keep :], known
        self._tidy()

    def manifests(self) -> Iterator[layout.Manifest | str]:
        """Yield manifests, newest first, or why one cannot be used; no array is read."""
        for path in sorted(self._paths(layout.ROUND), key=_round, reverse=True):
            try:
                yield self._manifest_in(path)
            except (layout.UnreadableError, OSError) as error:
                yield _unusable(path, error)

    def found(self) -> Iterator[FoundCheckpoint | str]:
        """Yield checkpoints, newest first, or why one cannot be used."""
        for manifest in self.manifests():
            if isinstance(manifest, str):
                yield manifest
                continue
            try:
                yield FoundCheckpoint(self._read(manifest), manifest)
            except layout.UnreadableError as error:
                yield _unusable(self.folder / _name(manifest), error)

    def continue_from(self, found: FoundCheckpoint) -> None:
        """Continue after a checkpoint that was found, as if it were the last; drop newer ones."""
        older = [
            each
            for each in self.manifests()
            if not isinstance(each, str) and each.round < found.manifest.round
        ]
        self._kept = [*reversed(older), found.manifest][-self.keep :]
        places = zip(found.checkpoint.arrays, found.manifest.arrays, strict=True)
        files = found.manifest.files
        self._known = {id(array): _Place(array, files[file], nth) for array, (file, nth) in places}

    def clear(self) -> None:
        """Remove everything, because the run is finished."""
        self._kept, self._known = [], {}
        self._tidy()
        with suppress(OSError):  # it does not exist, or contains other files
            self.folder.rmdir()

    def _still_good(self, arrays: Mapping[int, NDArray[Any]]) -> dict[int, _Place]:
        """Return where arrays are already stored, except in files that are mostly out of date."""
        used = {key: self._known[key] for key in arrays if key in self._known}
        live: Counter[str] = Counter()
        for place in used.values():
            live[place.file.name] += place.array.nbytes
        good = {
            place.file.name
            for place in used.values()
            if live[place.file.name] > LIVE * place.file.length
        }
        return {key: place for key, place in used.items() if place.file.name in good}

    def _manifest_in(self, path: Path) -> layout.Manifest:
        manifest = layout.parse_manifest(disk.read(path))
        if manifest.round != _round(path):
            raise layout.UnreadableError(f"it is of round {manifest.round}")
        return manifest

    def _read(self, manifest: layout.Manifest) -> Checkpoint:
        files = [self._arrays(file) for file in manifest.files]
        try:
            arrays = [files[file][number] for file, number in manifest.arrays]
        except KeyError:
            raise layout.UnreadableError("an array is missing") from None
        return Checkpoint(manifest.round, manifest.content, arrays)

    def _arrays(self, file: layout.File) -> dict[int, NDArray[Any]]:
        try:
            return layout.arrays_in(disk.read(self.folder / file.name), file)
        except OSError as error:
            raise layout.UnreadableError(
                f"its '{file.name}' cannot be read ({error.strerror})"
            ) from None
        except layout.UnreadableError as error:
            raise layout.UnreadableError(f"of its '{file.name}', {error}") from None

    def _tidy(self) -> None:
        """Remove files that no kept checkpoint needs, old manifests first."""
        needed = {_name(each) for each in self._kept}
        needed |= {file.name for each in self._kept for file in each.files}
        paths = self._paths(layout.ANY)
        for path in sorted(paths, key=lambda path: not layout.ROUND.fullmatch(path.name)):
            if path.name not in needed:
                with suppress(OSError):  # it does no harm
                    disk.remove(path)

    def _paths(self, pattern: "re.Pattern[str]") -> list[Path]:
        if not self.folder.is_dir() or self.folder.is_symlink():
            return []
        return [path for path in self.folder.iterdir() if pattern.fullmatch(path.name)]


def checkpoint_files(checkpoint: Checkpoint) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files of a single checkpoint."""
    arrays = {id(array): array for array in checkpoint.arrays}
    parts, known = _packed(checkpoint.round, list(arrays.values()))
    for name, content in parts.items():
        yield name, b"".join(content)
    manifest = _manifest(checkpoint, known)
    yield _name(manifest), layout.manifest_bytes(manifest)


def _packed(
    number: int, arrays: Sequence[NDArray[Any]]
) -> tuple[dict[str, list[disk.Bytes]], dict[int, _Place]]:
    """Return the file of some arrays, by its name, and the place of each array in it."""
    if not arrays:
        return {}, {}
    name, parts = f"arrays-{number}.safetensors", list(layout.file_parts(arrays))
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    file = layout.File(name, sum(map(len, parts)), checksum)
    return {name: parts}, {id(array): _Place(array, file, nth) for nth, array in enumerate(arrays)}


def _manifest(checkpoint: Checkpoint, known: Mapping[int, _Place]) -> layout.Manifest:
    files = {place.file.name: place.file for place in known.values()}
    number_of = {name: number for number, name in enumerate(files)}
    places = [known[id(array)] for array in checkpoint.arrays]
    arrays = tuple((number_of[place.file.name], place.number) for place in places)
    return layout.Manifest(checkpoint.round, tuple(files.values()), arrays, checkpoint.content)


def _name(manifest: layout.Manifest) -> str:
    return f"round-{manifest.round}.json"


def _round(path: Path) -> int:
    return int(path.stem.removeprefix("round-"))


def _unusable(path: Path, error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else error
    return f"'{path}' cannot be used: {reason}"
