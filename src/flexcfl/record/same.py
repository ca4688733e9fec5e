"""Whether settings are those of a run, or of a comparison, that was begun earlier."""

from collections.abc import Mapping
from typing import Any

__all__ = ["FREE", "difference", "without_free"]

# Where the data are and how often is saved makes no difference to what is computed.
FREE = {
    *("[run] data", "[data] folder"),
    *(f"[run] checkpoint_{how}" for how in ("rounds", "seconds", "share")),
}


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return the first setting of some tables that is not what it was, or None if all are.

    >>> difference({"run": {"rounds": 2, "data": "a"}}, {"run": {"rounds": 3, "data": "b"}})
    '[run] rounds'
    """
    old, new = _flat(before), _flat(now)
    for name in [*old, *new]:
        if name not in FREE and (name not in old or name not in new or old[name] != new[name]):
            return name
    return None


def without_free(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return settings without those that make no difference to what is computed."""
    return {
        table: {key: value for key, value in keys.items() if f"[{table}] {key}" not in FREE}
        for table, keys in tables.items()
    }


def _flat(tables: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for table, keys in tables.items():
        named = keys.items() if isinstance(keys, Mapping) else [("", keys)]
        flat |= {f"[{table}] {key}".rstrip(): value for key, value in named}
    return flat
