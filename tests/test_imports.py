"""Imports run one way, there are no circles, and nothing rests on studies, speed or examples."""

import ast
from functools import cache

import pytest
from programs import ROOT

FOLDERS = ("krda", "baselines", "experiments", "speed", "studies", "scripts", "examples")
#: The commands, and what only they share.
COMMANDS = {
    f"experiments.{name}"
    for name in ("run", "reproduce", "explain", "readme", "status", "commands", "fits")
}

#: What the modules of a room may import besides their own. "experiments" means the modules directly
#: in that folder, except for the commands.
MAY_IMPORT = {
    "krda": (),
    "baselines": ("krda",),
    "experiments": (),
    "experiments.datasets": ("experiments", "baselines", "krda"),
    "experiments.encoding": ("experiments", "experiments.datasets"),
    "experiments.published": ("experiments",),
    "experiments.store": ("experiments", "krda"),
    "experiments.cells": ("experiments", "experiments.store", "experiments.datasets", "baselines",
                          "krda"),
    "experiments.running": ("experiments", "experiments.cells", "experiments.store"),
    "experiments.analysis": ("experiments", "experiments.store", "experiments.published"),
    "experiments.reading": ("experiments", "experiments.analysis", "experiments.store",
                            "experiments.published"),
    "commands": ("experiments", "experiments.running", "experiments.cells", "experiments.store",
                 "experiments.datasets", "experiments.reading", "experiments.analysis",
                 "experiments.published", "krda"),
}  # fmt: skip


def modules():
    found = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def imports(*, inside_functions):
    """Modules of the repository that each one imports; imports for types alone are left out."""
    known = modules()
    found = {}
    for name, path in known.items():
        targets = set()
        todo = list(ast.parse(path.read_text(encoding="utf-8")).body)
        while todo:
            node = todo.pop()
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not inside_functions:
                continue
            todo += ast.iter_child_nodes(node)
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= {target if target in known else node.module for target in whole}
        found[name] = {target for target in targets if target in known} - {name}
    return found


def room(module):
    if module in COMMANDS:
        return "commands"
    first, *rest = module.split(".")
    if first == "experiments" and rest and (ROOT / first / rest[0]).is_dir():
        return f"{first}.{rest[0]}"
    return first


@pytest.mark.parametrize("own", MAY_IMPORT)
def test_a_room_imports_only_what_is_below_it(own):
    against_the_rule = {}
    for module, targets in imports(inside_functions=True).items():
        for target in targets:
            if room(module) == own and room(target) not in (own, *MAY_IMPORT[own]):
                against_the_rule.setdefault(room(target), set()).add(module)
    assert against_the_rule == {}


def importers_of(package):
    """The modules outside of a package that import of it."""
    return {
        module
        for module, targets in imports(inside_functions=True).items()
        if not f"{module}.".startswith(f"{package}.")
        and any(f"{target}.".startswith(f"{package}.") for target in targets)
    }


@pytest.mark.parametrize("package", ["speed", "studies", "scripts", "examples"])
def test_nothing_imports_what_only_measures_or_shows(package):
    assert importers_of(package) == set()


def test_only_the_one_switch_imports_the_fast_room():
    fast = importers_of("krda._fast")
    assert len(fast) <= 1
    assert all(module.split(".")[0] == "krda" for module in fast)


def test_there_are_no_circles():
    graph = imports(inside_functions=False)
    done, path = set(), []

    def visit(module):
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module in done:
            return
        path.append(module)
        for target in sorted(graph[module]):
            visit(target)
        done.add(path.pop())

    for module in graph:
        visit(module)
