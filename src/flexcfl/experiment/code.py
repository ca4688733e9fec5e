"""Which code of others an experiment names: whoever runs it for somebody else wants to know."""

from collections.abc import Mapping
from typing import Any

from flexcfl.experiment.layers import flat
from flexcfl.experiment.shifts import names
from flexcfl.extensions import is_path

__all__ = ["named_code"]

PLACES = (
    *("model.name", "algorithm.name", "drift.name", "aggregation.name", "attack.name"),
    *("data.name", "data.partition"),
)


def named_code(tables: Mapping[str, Any]) -> list[str]:
    """Return every ``package.module:name`` of an experiment, without importing any.

    >>> named_code({"model": {"name": "nets:make"}, "shift": ["swap-all", "mine:Tide"]})
    ['mine:Tide', 'nets:make']
    """
    said = flat(tables)
    found = [*(said.get(place) for place in PLACES), *names(said.get("shift.name", ()))]
    return sorted({name for name in found if isinstance(name, str) and is_path(name)})
