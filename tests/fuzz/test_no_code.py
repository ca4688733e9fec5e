"""Nothing that is read can be executed: the source has no way to, except the ones named here."""

import ast
from collections.abc import Iterator
from pathlib import Path

import flexcfl

SOURCE = Path(flexcfl.__file__).parent
FILES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}

EXECUTING = {"eval", "exec", "compile", "__import__", "execfile"}
UNPACKING = {
    *("pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"),
    *("yaml", "ruamel", "code", "codeop", "runpy", "imp"),
}
LOADING = {"torch.load", "np.load", "numpy.load", "torch.jit.load", "torch.hub.load"}
IMPORTING = {"importlib", "pkgutil", "zipimport"}

# Private pipes between a comparison and the processes that it started; never a file.
PICKLES = {"comparison/worker_pool.py", "comparison/worker_process.py"}
# Files of one client, in which objects are refused.
NPZ = {"data/npz.py"}
# The one place that imports code of others, which a user names or installs; the package's own
# entry point; packages of an extra, by names in the source; and our own files, read as text.
IMPORTERS = {
    *("__init__.py", "extensions.py", "runner/tracking/logged.py", "report/page/page.py"),
}


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def used(tree: ast.AST) -> Iterator[str]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name))
    return map(ast.unparse, nodes)


def importers(modules: set[str]) -> set[str]:
    """Return the files that import a module of these names, or anything out of one."""
    return {
        file
        for file, tree in TREES.items()
        if any(name.split(".")[0] in modules for name in imported(tree))
    }


def users(names: set[str]) -> set[str]:
    return {file for file, tree in TREES.items() if names & {*used(tree), *imported(tree)}}


TREES = {file: ast.parse(path.read_text("utf-8")) for file, path in FILES.items()}


def test_the_source_is_read() -> None:
    assert {"data/images.py", "experiment/toml.py", "cli/__init__.py"} <= FILES.keys()


def test_no_text_is_executed() -> None:
    assert users(EXECUTING | {f"builtins.{name}" for name in EXECUTING}) == set()


def test_pickles_go_through_private_pipes_alone() -> None:
    assert importers(UNPACKING) == PICKLES
    assert not PICKLES & users({"open", "Path.open"})


def test_nothing_is_loaded_that_may_hold_code() -> None:
    assert users(LOADING) == NPZ
    for file in NPZ:
        loads = [
            node
            for node in ast.walk(TREES[file])
            if isinstance(node, ast.Call) and ast.unparse(node.func) in LOADING
        ]
        assert loads
        assert all("allow_pickle" in {each.arg for each in node.keywords} for node in loads)


def test_arrays_are_never_read_as_objects() -> None:
    given = {
        (file, ast.unparse(node.value))
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle"
    }
    assert given == {(file, "False") for file in NPZ}


def test_code_of_others_is_imported_in_one_place() -> None:
    importing = {
        file
        for file, tree in TREES.items()
        for name in imported(tree)
        if name.split(".")[0] in IMPORTING and not name.startswith("importlib.metadata.")
    }
    assert importing == IMPORTERS


def test_the_front_door_imports_our_own_modules_only() -> None:
    calls = [
        ast.unparse(node.args[0])
        for node in ast.walk(TREES["__init__.py"])
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module"
    ]
    assert calls
    assert all(call.startswith("f'{__name__}.") for call in calls)


def test_the_search_finds_what_it_looks_for() -> None:
    tree = ast.parse("import os, pickle as p\nfrom torch import load\nnp.load(x)\neval('1')")
    assert set(imported(tree)) == {"os", "pickle", "torch.load"}
    assert {"np.load", "eval"} <= set(used(tree))
