"""The algorithms and settings of a comparison, stored in ``comparison.toml`` to resume it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tomli_w
from pydantic import ConfigDict

from flexcfl import __version__
from flexcfl.comparison.plan import PlannedRun, plan_runs
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment, Tables
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.record.checks import difference as first_difference
from flexcfl.runner.origin import Fingerprint
from flexcfl.settings import validated

FILE = "comparison.toml"


@dataclass(frozen=True)
class ComparisonSpec:
    """The algorithms, the number of seeds, and the given settings as TOML values.

    ``own_data`` is the fingerprint of the caller's own federation, if any.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    algorithms: tuple[str, ...]
    seeds: int
    own_data: Fingerprint | None = None
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        algorithms: Sequence[str],
        seeds: int,
        given: SettingsLayer,
        federation: Federation | None = None,
    ) -> "ComparisonSpec":
        """Return the specification for these arguments, after checking them."""
        first, *_ = plan_runs(algorithms, seeds, given, federation)
        tables = _plain_tables(given.tables, first.experiment)
        own = Fingerprint.of(federation) if federation is not None else None
        return cls(tuple(algorithms), seeds, own, tables)

    @classmethod
    def read(cls, folder: Path) -> "ComparisonSpec":
        """Return the specification of the comparison in a folder."""
        return validated(cls, toml.read(folder / FILE), f"'{folder / FILE}'")

    def to_toml(self) -> bytes:
        """Return the specification as TOML, with a comment on how to resume."""
        how = "flexcfl resume, with the name of this folder"
        if self.own_data is not None:
            how = "flexcfl.compare, with the same arguments, for only they have its data"
        remark = f"# Made by flexcfl {__version__}. To go on with this comparison: {how}\n\n"
        tables = {name: value for name, value in asdict(self).items() if value is not None}
        return (remark + tomli_w.dumps(tables)).encode()

    def runs(self, federation: Federation | None = None) -> tuple[PlannedRun, ...]:
        """Return the runs of the comparison."""
        if self.own_data is not None and federation is None:
            raise SettingsError(
                "This comparison uses data from a Python program: resume it there with "
                "flexcfl.compare and the same arguments."
            )
        return plan_runs(
            self.algorithms, self.seeds, SettingsLayer("given", self.settings), federation
        )

    def with_data_in(self, folder: Path) -> "ComparisonSpec":
        """Return the same specification with another folder for the files of its dataset."""
        run = {**self.settings.get("run", {}), "data": str(folder.absolute())}
        return replace(self, settings={**self.settings, "run": run})

    def difference(self, other: "ComparisonSpec", federation: Federation | None) -> str | None:
        """Return the first difference to another specification as text, or None."""
        if self.algorithms != other.algorithms:
            return f"of {', '.join(self.algorithms)}"
        if self.seeds != other.seeds:
            return f"of {self.seeds} seeds"
        if self.own_data != other.own_data:
            return "of other data"
        runs = zip(self.runs(federation), other.runs(federation), strict=True)
        tables = ((old.experiment.tables(), new.experiment.tables()) for old, new in runs)
        others = filter(None, (first_difference(old, new) for old, new in tables))
        return next((f"where {name} is not the same" for name in others), None)


def _plain_tables(tables: Mapping[str, Mapping[str, Any]], experiment: Experiment) -> Tables:
    """Return settings as TOML values, with absolute paths and without those that are None.

    None means the default, and TOML has no such value.
    """
    anchored = {"data": experiment.data.options, "run": experiment.run}

    def plain(table: str, key: str, value: Any) -> Any:
        known = getattr(anchored.get(table), key, None)
        return str(known) if isinstance(known, Path) else _plain(value)

    return {
        table: {key: plain(table, key, value) for key, value in keys.items() if value is not None}
        for table, keys in tables.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, bool | int | float | str):
        raise SettingsError(
            f"{value!r:.60} cannot be written to comparison.toml: give a number, a text or a list "
            "of them."
        )
    return value
