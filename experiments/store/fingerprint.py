"""What config, code and libraries a cell's numbers depend on.

The fingerprint of a module covers its own syntax tree and that of every module of this repository
that it imports, directly or not. Comments, docstrings and layout do not count: they change no
number. A change in one method's module therefore concerns that method's cells and no others.

The checksum of a config has the classes of this repository by their names alone: their modules are
the fingerprint's, so that a record keeps its place if modules are moved.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from experiments.store.text import sha256_of

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("krda", "baselines", "experiments")

# Distributions whose version can change a result, by the name they are imported under.
_NUMERICAL = {name: name for name in ("numpy", "scipy", "torch", "dalib", "piqp", "numba")}
_NUMERICAL |= {"sklearn": "scikit-learn", "ot": "pot"}


def config_sha256(config: Any) -> str:
    """Hex SHA-256 of a cell's config, in which a class of this repository has no module."""
    return sha256_of(_without_modules(config))


def is_own(name: str) -> bool:
    """Whether a dotted name begins with a package of this repository."""
    return name.split(".")[0] in _PACKAGES


def _without_modules(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_modules(item) for item in value]
    if not isinstance(value, dict):
        return value
    copy = {key: _without_modules(item) for key, item in value.items()}
    target = copy.get("_target_")
    if isinstance(target, str) and is_own(target):
        copy["_target_"] = target.rpartition(".")[2]
    return copy


def code_fingerprint(modules: tuple[str, ...]) -> str:
    """Hex SHA-256 over modules of this repository and all they import from it, by dotted name."""
    digest = hashlib.sha256()
    for module in _closure(modules):
        digest.update(f"{module}\0{_parse(module).digest}\0".encode())
    return digest.hexdigest()


def library_versions(modules: tuple[str, ...], named: tuple[str, ...] = ()) -> dict[str, str]:
    """Versions of the numerical libraries that modules of this repository import, directly or not.

    ``named`` adds packages that a config names. Versions are without local build labels such as
    ``+cpu``; "absent" if not installed, which an optional library need not be; "disabled" for numba
    if ``NUMBA_DISABLE_JIT`` keeps it from compiling, since the plain loops give other digits.
    """
    imported = {top for module in _closure(modules) for top in _parse(module).external}
    used = {*named, *(imported & set(_NUMERICAL))} - {*_PACKAGES, *sys.stdlib_module_names}
    versions = {}
    for name in sorted(used):
        distribution = _NUMERICAL.get(name) or _distribution(name)
        versions[distribution] = _version(distribution)
    if "numba" in versions and os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0"):
        versions["numba"] = "disabled"
    return versions


def _distribution(package: str) -> str:
    return importlib.metadata.packages_distributions().get(package, [package])[0]


@cache
def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return "absent"


class _Module(NamedTuple):
    """Digest of a module's code, and what it imports."""

    digest: str
    internal: set[str]
    external: set[str]


@cache
def _parse(name: str) -> _Module:
    path = _path(name)
    if path is None:
        raise ValueError(f"{name} is not a module of this repository.")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from package import module` names a module, `from module import name` does not.
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":
            imported |= {str(a.value) for a in node.args if isinstance(a, ast.Constant)}
    return _Module(
        hashlib.sha256(_code(tree).encode()).hexdigest(),
        {other for other in imported if _path(other) is not None},
        {other.split(".")[0] for other in imported if not is_own(other)},
    )


def _path(name: str) -> Path | None:
    base = _ROOT.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if is_own(name) and path.is_file():
            return path
    return None


def _closure(modules: tuple[str, ...]) -> list[str]:
    found: set[str] = set()
    open_modules = list(modules)
    while open_modules:
        name = open_modules.pop()
        if name not in found:
            found.add(name)
            open_modules.extend(_parse(name).internal)
    return sorted(found)


def _code(tree: ast.Module) -> str:
    """Serialise a syntax tree without docstrings, positions and empty fields."""
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and (ast.get_docstring(node, clean=False) is not None):
            node.body = node.body[1:]
    return _dump(tree)


def _dump(node: object) -> str:
    # As ast.dump, but new versions of Python add fields to old nodes, which are empty there.
    if isinstance(node, list):
        return "[" + ",".join(_dump(item) for item in node) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [f"{k}={_dump(v)}" for k, v in ast.iter_fields(node) if v not in (None, [])]
    return f"{type(node).__name__}({','.join(fields)})"
