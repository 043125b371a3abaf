import ast

import pytest

from experiments import fingerprint
from experiments.fingerprint import code_fingerprint, library_versions

CODE = '''
"""Module."""

def f(x: float) -> float:
    """Docstring."""
    return x + 1  # a comment
'''


def dump(source):
    return fingerprint._dump(ast.parse(source))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another"),
        ('"""Docstring."""', '"""Other words."""'),
        ('"""Module."""', ""),
        ("x + 1", "(x  +\n      1)"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(old, new):
    assert dump(CODE.replace(old, new)) == dump(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [("+ 1", "+ 2"), ("x + 1", "x - 1"), ("return", "y = 3; return"), ("f(x", "g(x")],
)
def test_every_change_of_code_counts(old, new):
    assert dump(CODE.replace(old, new)) != dump(CODE)


def test_a_string_that_is_no_docstring_counts():
    assert dump("x = 'a'") != dump("x = 'b'")
    assert dump("def f():\n    'doc'\n    return 'a'") != dump(
        "def f():\n    'doc'\n    return 'b'"
    )


def test_a_method_depends_on_what_it_imports_and_on_no_other_method():
    krda = fingerprint._closure(("krda.estimator",))
    assert {"krda.rnade", "krda.mixture", "krda.training", "krda.transport"} <= set(krda)
    assert not any(name.startswith(("baselines", "experiments")) for name in krda)
    assert {"baselines.networks", "baselines.dalib_compat"} <= set(
        fingerprint._closure(("baselines.adversarial",))
    )
    assert "krda.rnade" not in fingerprint._closure(("baselines.subspace_alignment",))


def test_a_change_in_a_module_changes_the_fingerprint_of_those_that_import_it(monkeypatch):
    def prints():
        fingerprint._parse.cache_clear()
        return [code_fingerprint((m,)) for m in ("krda.estimator", "baselines.naive")]

    before = prints()
    original = fingerprint._dump

    def dump_with_another_rnade(node):
        changed = isinstance(node, ast.Module) and "class RNADE(" in ast.unparse(node)
        return original(node) + "!" * changed

    monkeypatch.setattr(fingerprint, "_dump", dump_with_another_rnade)
    after = prints()
    fingerprint._parse.cache_clear()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_library_versions_are_those_of_the_libraries_imported():
    assert set(library_versions(("krda.estimator",))) == {"numpy", "scikit-learn", "torch"}
    assert "pot" in library_versions(("baselines.optimal_transport",))
    assert all("+" not in version for version in library_versions(("krda.estimator",)).values())


def test_a_module_from_elsewhere_is_refused():
    with pytest.raises(ValueError, match="not a module of this repository"):
        code_fingerprint(("numpy.linalg",))
