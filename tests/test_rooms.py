"""The plan of the house: data flows one way, nothing imports in a circle, nothing outgrows a reader's patience."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import stawm

HOUSE = Path(stawm.__file__).parent
ROOMS = (
    *("memory", "vision", "model", "baselines", "data", "experiments", "trust", "store", "measure", "training"),
    *("ledger", "compare", "show", "look", "page", "serve", "cli"),
)
"""Each room may import from those before it, and all from the modules that stand at the top of the package."""
TOP = {"errors", "registry", "ranges", "files", "precision"}
MODULES = sorted(HOUSE.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 350, 50


def name_of(path: Path) -> str:
    parts = path.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in MODULES}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, *, everywhere: bool) -> Iterator[str]:
    """The modules of the package that a module imports; if not `everywhere`, only when it is itself imported."""
    for node in ast.walk(parsed(path)) if everywhere else parsed(path).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in NAMES)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "stawm":
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in NAMES else node.module for name in inside)


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def test_every_folder_is_a_room_of_the_plan():
    assert {path.parent.name for path in HOUSE.glob("*/__init__.py")} == set(ROOMS)


def test_imports_go_one_way():
    for name, imported in ((name_of(path), one) for path in MODULES for one in imports(path, everywhere=True)):
        own, room = room_of(name), room_of(imported)
        if own in ROOMS and room in ROOMS:
            assert ROOMS.index(room) <= ROOMS.index(own), f"{name} imports {imported}"
        elif own in TOP:
            assert room in TOP or not room, f"{name} imports {imported}"


def test_no_module_imports_in_a_circle():
    graph = {name_of(path): set(imports(path, everywhere=False)) - {name_of(path)} for path in MODULES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)


def test_files_and_functions_stay_short():
    for path in MODULES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE, path
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, (path, node.name)
