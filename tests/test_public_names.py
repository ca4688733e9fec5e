"""The names that users import: a change of them is a decision, and stands in the changelog."""

import importlib
from collections import defaultdict
from pathlib import Path

import flexcfl
from tests.test_architecture import MODULES

FILE = Path(__file__).with_name("public_names.txt")
ROOMS = (
    *("aggregation", "algorithms", "clustering", "comparison", "data", "errors", "extensions"),
    *("protocol", "record.metrics", "report.charts", "report.history", "report.page", "runner"),
    *("runner.tracking", "shifts", "shifts.detection", "simulation", "testing", "trust.faults"),
    *("trust.guards", "trust.privacy"),
)


def names() -> str:
    """Return the public names of every room, a line each."""
    found = {"flexcfl": flexcfl.__all__}
    for room in ROOMS:
        module = importlib.import_module(f"flexcfl.{room}")
        found[module.__name__] = getattr(module, "__all__", [])
    return "".join(f"{room}: {' '.join(sorted(found[room]))}\n" for room in found)


def test_public_names_are_those_that_were_agreed_on() -> None:
    assert names() == FILE.read_text("utf-8"), (
        f"Public names changed: name the change in CHANGELOG.md, then write {FILE.name} again."
    )


def test_a_public_class_has_its_name_alone() -> None:
    owners: dict[str, set[str]] = defaultdict(set)
    for module in MODULES:
        for name, found in vars(importlib.import_module(module)).items():
            if isinstance(found, type) and found.__module__ == module and name[0] != "_":
                owners[name].add(module)
    shared = {name: modules for name, modules in owners.items() if len(modules) > 1}
    assert not shared, f"Rename all but one of each: {shared}."
