"""The architecture: which package may import which, read from the source without running it."""

import ast
import importlib
import importlib.util
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Literal

import pytest

import flexcfl

SOURCE = Path(flexcfl.__file__).parent

BASE = {"errors", "extensions", "lines", "seeds", "settings", "synonyms"}
# A room is a module or package directly under flexcfl; "flexcfl" is the package's own front door.
MAY_IMPORT: Mapping[str, set[str]] = {
    "synonyms": set(),
    "errors": {"synonyms"},
    "lines": {"errors"},
    "seeds": set(),
    "settings": {"errors", "synonyms"},
    "extensions": {"errors"},
    "protocol": {"errors", "seeds"},
    "aggregation": {"extensions", "protocol", "clustering"},
    "trust": {"errors", "extensions", "seeds", "protocol", "aggregation", "clustering"},
    "threads": set(),
    "disk": set(),
    "clustering": {"errors", "protocol", "threads"},
    "shifts": BASE | {"protocol", "data", "threads"},
    "algorithms": {"errors", "extensions", "protocol", "aggregation", "clustering"},
    "data": BASE,
    "models": {"errors", "extensions", "seeds"},
    "engine": {"errors", "seeds", "protocol", "models", "data"},
    "simulation": {
        *("errors", "seeds", "protocol", "clustering", "data", "shifts", "models", "engine"),
        "trust",
    },
    "experiment": BASE | {"protocol", "aggregation", "algorithms", "data", "shifts", "trust"},
    "record": {"errors", "settings", "protocol", "data", "trust", "disk", "experiment"},
    "report": BASE | {"protocol", "algorithms", "data", "experiment", "record"},
    "runner": BASE
    | {"protocol", "aggregation", "algorithms", "data", "shifts", "trust", "models", "engine"}
    | {"simulation", "disk", "experiment", "record", "report"},
    "flower": BASE
    | {"protocol", "data", "trust", "simulation", "experiment", "record", "report", "runner"}
    | {"models", "engine"},  # already imported in the process that forks
    "comparison": BASE
    | {"protocol", "algorithms", "data", "disk", "experiment", "record", "report", "runner"},
    "testing": BASE | {"protocol", "clustering", "record", "algorithms", "data", "shifts"},
    "benchmark": BASE | {"protocol", "data", "models", "engine", "experiment", "record", "runner"},
    "paper": BASE
    | {"protocol", "aggregation", "algorithms", "data", "shifts", "threads", "disk"}
    | {"experiment", "record", "report", "runner", "comparison"}
    | {"benchmark"},  # for its words on the machine
    "cli": BASE
    | {"protocol", "algorithms", "data", "shifts", "experiment", "record", "report", "runner"}
    | {"comparison", "paper", "benchmark", "flower"},
    "__main__": {"cli"},
    "flexcfl": {"errors", "protocol", "algorithms", "data", "shifts", "runner", "comparison"},
}
WITH_TORCH = {"engine", "models", "benchmark"}
NAME_TORCH_TYPES = {"simulation", "experiment", "runner", "cli", "flexcfl"}
# These compute from arguments alone. A whitelist, so that files, sockets, clocks and global random
# numbers stay out without each being named.
PURE = {
    "report.charts",
    "errors",
    "synonyms",
    "threads",
    "seeds",
    "protocol",
    "aggregation",
    "algorithms",
    "clustering",
    "paper.divergence",
    "paper.regression",
    "record.export",
    "shifts",
    "trust",
    "record.metrics",
}
HARMLESS = {
    *("__future__", "abc", "collections", "dataclasses", "difflib", "enum", "functools"),
    *("itertools", "math", "numpy", "operator", "pydantic", "re", "scipy", "sklearn"),
    *("sys", "threadpoolctl", "types", "typing", "typing_extensions", "zlib", "dp_accounting"),
    *("bisect", "contextlib", "copy", "html", "json", "statistics", "warnings"),
}
EFFECTS = {"open", "input", "print", "exec", "eval", "__import__"}


@dataclass(frozen=True)
class Import:
    target: str
    when: Literal["always", "later", "typing"]


def names_of_modules() -> dict[str, Path]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_in(module: str, path: Path, tree: ast.AST) -> Iterator[Import]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]

    def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            return
        base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
        for alias in node.names:
            name = f"{base}.{alias.name}"
            # A name taken out of one of our modules stands for that module.
            yield base if base in MODULES and base != "flexcfl" and name not in MODULES else name

    def walk(node: ast.AST, when: Literal["always", "later", "typing"]) -> Iterator[Import]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (Import(target, when) for target in targets(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            when = "later" if when == "always" else when
        for field, value in ast.iter_fields(node):
            inside = isinstance(node, ast.If) and field == "body" and _only_for_types(node.test)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, "typing" if inside else when)

    return walk(tree, "always")


def _only_for_types(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def inner(target: str) -> bool:
    return target.split(".")[0] == "flexcfl" and target != "flexcfl.__version__"


def of_torch(target: str) -> bool:
    top = target.split(".")[0]
    return top in ("torch", "torchvision", "functorch") or target.startswith("safetensors.torch")


MODULES = names_of_modules()
TREES = {module: ast.parse(path.read_text("utf-8")) for module, path in MODULES.items()}
IMPORTS = {module: list(imports_in(module, MODULES[module], TREES[module])) for module in MODULES}


def test_every_room_has_its_place_in_the_table() -> None:
    strangers = sorted({room(module) for module in MODULES} - set(MAY_IMPORT))
    assert not strangers, (
        f"Say in MAY_IMPORT of {Path(__file__).name} what the new rooms {strangers} may import, "
        "and who may import them."
    )


def test_every_room_is_reached_from_the_front_door(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = {room(module) for module in MODULES} - {"flexcfl", "cli", "__main__"}
    assert rooms <= set(dir(flexcfl))
    for name in rooms:
        monkeypatch.delattr(flexcfl, name, raising=False)  # some test may have imported it
        assert getattr(flexcfl, name).__name__ == f"flexcfl.{name}"


def test_the_table_itself_points_one_way() -> None:
    TopologicalSorter(MAY_IMPORT).prepare()


def test_imports_point_the_way_of_the_design() -> None:
    wrong = []
    for module, items in IMPORTS.items():
        allowed = MAY_IMPORT.get(room(module), set()) | {room(module)}
        targets = {item.target for item in items if inner(item.target)}
        strange = sorted(target for target in targets if room(target) not in allowed)
        wrong += [f"{module} may import {sorted(allowed)}, but imports {strange}"] * bool(strange)
    assert not wrong


def test_torch_stays_in_the_engine_and_the_models() -> None:
    wrong = [
        module
        for module, items in IMPORTS.items()
        if room(module) not in WITH_TORCH
        for item in items
        if of_torch(item.target)
        if not (item.when == "typing" and room(module) in NAME_TORCH_TYPES)
    ]
    assert not wrong, (
        f"{wrong} import torch: only {sorted(WITH_TORCH)} may, and {sorted(NAME_TORCH_TYPES)} "
        "may name its types under TYPE_CHECKING."
    )


def test_pure_rooms_import_only_what_has_no_effects() -> None:
    pure = [module for module in MODULES if _parents_of(module) & PURE]
    outer = {each: {item.target.split(".")[0] for item in IMPORTS[each]} for each in pure}
    imported = {each: names - HARMLESS - {"flexcfl"} for each, names in outer.items()}
    names = {each: ast.walk(TREES[each]) for each in pure}
    called = {
        each: {node.id for node in nodes if isinstance(node, ast.Name)} & EFFECTS
        for each, nodes in names.items()
    }
    wrong = {each: imported[each] | called[each] for each in pure if imported[each] | called[each]}
    assert not wrong, f"These compute from their arguments alone, and use: {wrong}."


def test_only_the_engine_and_the_models_load_torch_when_imported() -> None:
    others = [module for module in MODULES if room(module) not in WITH_TORCH]
    reached = {module: sorted(_reached(module) & _with_torch()) for module in others}
    loading = {module: through for module, through in reached.items() if through}
    assert not loading, f"Import these only inside the functions that need them: {loading}."


def test_no_module_imports_itself_through_others() -> None:
    graph = {module: _always(module) - {module} for module in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"Modules import each other in a circle: {' <- '.join(error.args[1])}.")


def test_every_module_says_what_it_is_for() -> None:
    silent = [module for module, tree in TREES.items() if not ast.get_docstring(tree)]
    assert not silent, f"{silent} need a docstring that opens with one sentence."


def test_every_package_lists_its_public_names_and_has_them() -> None:
    """In a module within a package, every name without an underscore may be imported."""
    for module, path in MODULES.items():
        inside = path.name != "__init__.py" and path.parent != SOURCE
        if inside or room(module) in ("cli", "__main__"):  # nothing is imported from commands
            continue
        loaded = importlib.import_module(module)
        names = getattr(loaded, "__all__", None)
        assert names is not None or not _defines_anything(module), f"{module} needs __all__."
        missing = [name for name in names or () if not hasattr(loaded, name)]
        assert not missing, f"__all__ of {module} names {missing}, which it does not have."


def _parents_of(module: str) -> set[str]:
    """Return the rooms that a module is in, from the outermost to the innermost."""
    parts = module.split(".")[1:]
    return {".".join(parts[:number]) for number in range(1, len(parts) + 1)}


def _always(module: str) -> set[str]:
    """Return which of our modules are imported when this one is."""
    found = {item.target for item in IMPORTS[module] if item.when == "always"}
    found = {target for target in found if inner(target)}
    return {target if target in MODULES else target.rpartition(".")[0] for target in found}


def _with_torch() -> set[str]:
    return {
        module
        for module, items in IMPORTS.items()
        if any(of_torch(item.target) and item.when == "always" for item in items)
    }


def _reached(module: str) -> set[str]:
    seen: set[str] = set()
    ahead = [module]
    while ahead:
        following = _always(ahead.pop()) - seen
        # Importing a.b.c runs a and a.b as well.
        parents = {parent for name in following for parent in _parents(name)}
        seen |= following | parents
        ahead += following | parents
    return seen


def _parents(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def _defines_anything(module: str) -> bool:
    plain = (ast.Expr, ast.Assign)
    return any(not isinstance(statement, plain) for statement in TREES[module].body)


EXAMPLE = """
from __future__ import annotations
import os.path, numpy as np
from typing import TYPE_CHECKING
from flexcfl import errors, __version__
from flexcfl.protocol import Local
from . import seeds
from torch import nn
if TYPE_CHECKING:
    import torch
else:
    import json
class A:
    import csv
    def b(self):
        from flexcfl.engine import Engine
try:
    import tomllib
except ImportError:
    import tomli
"""


def test_the_reader_of_imports_sees_all_kinds() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for item in imports_in("flexcfl.example", Path("example.py"), ast.parse(EXAMPLE)):
        found[item.when].add(item.target)
    assert found == {
        "always": {
            *("__future__.annotations", "os.path", "numpy", "typing.TYPE_CHECKING", "torch.nn"),
            *("flexcfl.errors", "flexcfl.__version__", "flexcfl.protocol", "flexcfl.seeds"),
            *("json", "csv", "tomllib", "tomli"),
        },
        "typing": {"torch"},
        "later": {"flexcfl.engine"},
    }
