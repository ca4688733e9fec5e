"""``config.json``: what a program needs to know of models that it loads."""

import json
from typing import Any

from flexcfl.record.export.facts import Facts

__all__ = ["config"]

KEYS = ("algorithm", "dataset", "model", "shape", "classes", "parameters", "rounds", "seed")


def config(facts: Facts) -> str:
    """Return JSON: what a model takes and gives, the groups, and who is in which of them."""
    groups = [
        {
            "group": group.number,
            "file": group.file,
            "accuracy": group.accuracy,
            "waiting": group.waiting,
            "clients": list(group.clients),
        }
        for group in facts.groups
    ]
    summary: dict[str, Any] = {**facts.summary}
    told = {key: summary[key] for key in KEYS}
    told |= {"groups": groups, "auxiliary": facts.auxiliary, "names": list(facts.names)}
    told |= {"flexcfl": facts.summary["versions"]["flexcfl"]}
    return f"{json.dumps(told, indent=2)}\n"
