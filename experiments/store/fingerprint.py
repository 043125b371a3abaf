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
from typing import Any

from experiments.store.text import sha256_of

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("krda", "baselines", "experiments")

# Distributions whose version can change a result, by the name they are imported under.
_NUMERICAL = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "torch": "torch",
    "ot": "pot",
    "dalib": "dalib",
    "piqp": "piqp",
    "numba": "numba",
}


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
    known = {*_NUMERICAL, *_PACKAGES, *sys.stdlib_module_names}
    outside = {name: _distribution(name) for name in named if name not in known}
    return {
        distribution: _version(distribution)
        for name, distribution in sorted((outside | _NUMERICAL).items())
        if name in imported or name in named
    }


def _distribution(package: str) -> str:
    return importlib.metadata.packages_distributions().get(package, [package])[0]


def _version(distribution: str) -> str:
    try:
        version = importlib.metadata.version(distribution).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return "absent"
    return "disabled" if distribution == "numba" and _jit_is_disabled() else version


def _jit_is_disabled() -> bool:
    """Read ``NUMBA_DISABLE_JIT`` as numba does, which need not be loaded to know."""
    try:
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT", "0")))
    except ValueError:
        return False


class _Module:
    """Digest of a module's code, and what it imports."""

    def __init__(self, name: str) -> None:
        path = _path(name)
        if path is None:
            raise ValueError(f"{name} is not a module of this repository.")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        self.internal: set[str] = set()
        self.external: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level:
                raise ValueError(f"{name} has a relative import; use an absolute one.")
            elif isinstance(node, ast.ImportFrom) and node.module:
                # `from package import module` names a module, `from module import name` does not.
                names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":
                names = [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
            else:
                continue
            for imported in names:
                if not is_own(imported):
                    self.external.add(imported.split(".")[0])
                elif _path(imported) is not None:
                    self.internal.add(imported)
        self.digest = hashlib.sha256(_dump(tree).encode()).hexdigest()


@cache
def _parse(name: str) -> _Module:
    return _Module(name)


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


def _dump(node: object) -> str:
    """Serialise a syntax tree without docstrings, positions and empty fields.

    Empty fields are left out since new versions of Python add such fields to old nodes.
    """
    if isinstance(node, list):
        return "[" + ",".join(_dump(item) for item in node) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = []
    for name, value in ast.iter_fields(node):
        if name == "body" and _has_docstring(node):
            value = value[1:]
        if value not in (None, []):
            fields.append(f"{name}={_dump(value)}")
    return f"{type(node).__name__}({','.join(fields)})"


def _has_docstring(node: ast.AST) -> bool:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
