"""The origin of a run, checked when it resumes: settings, data, custom objects, versions."""

import json
import platform
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import numpy as np

from flexcfl import __version__
from flexcfl.algorithms import legacy_options
from flexcfl.data import Federation, IndexLists
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.record.checks import FREE
from flexcfl.runner.prepare import Prepared

Pairs: TypeAlias = tuple[tuple[str, str], ...]

SAMPLE = 256  # the number of examples in a fingerprint, because reading all of them takes time


@dataclass(frozen=True)
class Fingerprint:
    """Sizes and checksums that identify a federation's data."""

    clients: int
    classes: int
    shape: tuple[int, ...]
    checksums: tuple[int, ...]

    @classmethod
    def of(cls, federation: Federation) -> "Fingerprint":
        """Return the fingerprint of all labels, of each client's indices, and of some examples."""
        x, y = federation.x, federation.y
        some = np.linspace(0, len(y) - 1, min(SAMPLE, len(y))).astype(np.int64)
        lists = (federation.train, federation.test)
        # Lists made on demand are left out: they would be long, and their code defines them.
        listed = [each.indices for each in lists if isinstance(each, IndexLists)]
        parts = (y, *(each.offsets for each in lists), *listed, x[some])
        checksums = tuple(zlib.crc32(np.ascontiguousarray(part).data) for part in parts)
        return cls(federation.clients, federation.classes, tuple(x.shape), checksums)


@dataclass(frozen=True)
class Origin:
    """What a run is made of; ``settings`` are pairs of a name and a value as JSON."""

    settings: Pairs
    data: Fingerprint
    own: tuple[str, ...]
    versions: Pairs

    @classmethod
    def of(cls, prepared: Prepared) -> "Origin":
        """Return the origin of a prepared run."""
        data = Fingerprint.of(prepared.federation)
        known = tuple(versions().items())
        return cls(tuple(_flat(prepared.experiment)), data, prepared.own, known)

    def check_own(self, own: tuple[str, ...]) -> None:
        """Refuse to resume a run without its custom objects."""
        missing = [part for part in self.own if part not in own]
        if missing:
            raise SettingsError(
                f"This run has its own {' and '.join(missing):.100}, which only Python has: "
                "go on with flexcfl.resume, and give it the same again."
            )

    def check(self, now: "Origin") -> None:
        """Refuse to resume a run with other settings, data or custom objects."""
        self.check_own(now.own)
        changed = {name for name, _ in self._with_legacy_options() ^ set(now.settings)} - FREE
        for name in sorted(changed):
            raise SettingsError(
                f"{name} is not what it was when this run began: put it back in its "
                "experiment.toml, or start a new run."
            )
        if self.data != now.data:
            raise SettingsError(
                "The data are not those with which this run began: say with --data in which "
                "folder those are, or start a new run."
            )

    def _with_legacy_options(self) -> set[tuple[str, str]]:
        """Return the settings with the options that the algorithm has gained since then."""
        settings = dict(self.settings)
        name = settings.get("[algorithm] name", "").strip(
            '"'
        )  # a JSON string, unless the file is damaged
        for key, value in legacy_options(name).items():
            settings.setdefault(f"[algorithm] {key}", json.dumps(value))
        return set(settings.items())

    def changed_versions(self, now: "Origin") -> str:
        """Return which versions have changed, as text; empty if none has."""
        before = dict(self.versions)
        return ", ".join(
            f"{name} {new} (was {before.get(name, 'not there'):.40})"
            for name, new in now.versions
            if before.get(name) != new
        )


def versions() -> dict[str, str]:
    """Return the versions of flexcfl, Python and the libraries that compute."""
    libraries = {name: version(name) for name in ("torch", "numpy")}
    return {"flexcfl": __version__, "python": platform.python_version(), **libraries}


def processor() -> str:
    """Return the kind of processor, because models from different kinds differ by rounding."""
    cpus = Path("/proc/cpuinfo")  # on Linux, Python does not know the name
    if not cpus.exists():
        return platform.processor() or platform.machine()
    lines = (line.partition(":") for line in cpus.read_text("utf-8").split("\n\n")[0].splitlines())
    told = {key.strip(): value.strip() for key, _, value in lines}
    numbers = [f"{key} {told[key]}" for key in ("cpu family", "model") if key in told]
    return " ".join([told.get("model name", platform.machine()), *numbers])


def _flat(experiment: Experiment) -> Iterator[tuple[str, str]]:
    for table, keys in experiment.tables().items():
        for key, value in keys.items():
            yield f"[{table}] {key}", json.dumps(value)
