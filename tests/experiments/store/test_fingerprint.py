import ast
import json
from types import SimpleNamespace

import pytest
from cell_factory import SMOKE, make_cell

from experiments.catalogue import config_names
from experiments.cells.cell import Cell
from experiments.cells.configuration import cells_of
from experiments.store import fingerprint
from experiments.store.fingerprint import library_versions

CODE = '''
"""Module."""

def f(x: float) -> float:
    """Docstring."""
    return x + 1  # a comment
'''


def dump(source):
    return fingerprint._code(ast.parse(source))


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("# a comment", "# another", True),
        ('"""Docstring."""', '"""Other words."""', True),
        ('"""Module."""', "", True),
        ("x + 1", "(x  +\n      1)", True),
        ("+ 1", "+ 2", False),
        ("x + 1", "x - 1", False),
        ("return", "y = 3; return", False),
        ("f(x", "g(x", False),
    ],
)
def test_changes_of_code_count_those_of_comments_docstrings_and_layout_do_not(old, new, same):
    assert (dump(CODE.replace(old, new)) == dump(CODE)) == same


METHODS = config_names("method")
DEEP = {a + b for a in ("dann", "cdan", "dan", "jan", "shot") for b in ("", "_matched")}
ADVERSARIAL = {"dann", "cdan", "dann_matched", "cdan_matched"}
KRDA = {name for name in METHODS if name.startswith("krda")}
OF_KRDA = ["krda.transport", "krda._fast",
           *(f"krda.density.{name}" for name in ("rnade", "mixture", "training"))]  # fmt: skip
# What keeps and shows records.
OF_RECORDS = ["experiments.cells.cell", "experiments.store.records", "experiments.running.engine",
              "experiments.reading.render"]  # fmt: skip
ON_MOONS = {("moons", method) for method in METHODS}
ALL = ON_MOONS | {("amazon", "sa")}


@pytest.fixture(scope="module")
def cells():
    """Cells of every method on one data set, and of one method on another."""
    found = [*cells_of("moons", ["40"], METHODS, [SMOKE]), make_cell(dataset="amazon", method="sa")]
    return {(cell.dataset, cell.method): cell for cell in found}


@pytest.mark.parametrize(
    ("module", "concerned"),
    [
        ("experiments.cells.protocol", ALL),
        ("experiments.threads", ALL),
        ("krda.base", ALL),
        ("baselines.kernel_mean_matching", {("moons", "kmm")}),
        ("baselines.kernels", {("moons", "kmm"), ("moons", "tca")}),
        ("baselines.deep.source_hypothesis", {("moons", "shot"), ("moons", "shot_matched")}),
        ("baselines.deep.networks", {("moons", method) for method in DEEP}),
        ("baselines.deep.dalib_compat", {("moons", method) for method in ADVERSARIAL}),
        *((module, {("moons", method) for method in KRDA}) for module in OF_KRDA),
        ("experiments.datasets.moons", ON_MOONS),
        ("experiments.datasets.amazon", {("amazon", "sa")}),
        *((module, set()) for module in OF_RECORDS),
    ],
)
def test_a_change_in_a_module_concerns_its_cells_alone(monkeypatch, module, concerned, cells):
    assert fingerprint._path(module) is not None
    before = {key: Cell(cell.config).code for key, cell in cells.items()}
    parse = fingerprint._parse

    def parse_changed(name):
        parsed = parse(name)
        changed = "!" * (name == module)
        return SimpleNamespace(digest=parsed.digest + changed, internal=parsed.internal)

    monkeypatch.setattr(fingerprint, "_parse", parse_changed)
    after = {key: Cell(cell.config).code for key, cell in cells.items()}
    assert {key for key in cells if after[key] != before[key]} == concerned


@pytest.mark.parametrize(
    ("library", "methods"),
    [
        ("piqp", {"kmm"}),
        ("pot", {"ot", "ot_sinkhorn", "ot_lpl1"}),
        ("dalib", ADVERSARIAL),
        ("torch", DEEP | KRDA),
        ("numba", KRDA),
        ("scikit-learn", set(METHODS)),
    ],
)
def test_a_library_concerns_the_cells_of_the_methods_that_use_it(library, methods, cells):
    moons = {key: cell for key, cell in cells.items() if key[0] == "moons"}
    assert {key[1] for key, cell in moons.items() if library in cell.libraries} == methods


@pytest.mark.parametrize(
    ("value", "disabled"), [("1", True), (" 2 ", True), ("0", False), ("", False)]
)
def test_compiled_loops_switched_off_count_as_another_library(monkeypatch, value, disabled):
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    compiled = library_versions(("krda.estimator",))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", value)
    found = library_versions(("krda.estimator",))
    assert found == (compiled | {"numba": "disabled"} if disabled else compiled)
    # Methods without compiled loops are not concerned.
    assert "numba" not in library_versions(("baselines.subspace_alignment",))


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("experiments.datasets.moons.Moons", "experiments.other.place.Moons", True),
        ("baselines.deep.adversarial.DANN", "krda.dann.DANN", True),
        ("baselines.deep.adversarial.DANN", "baselines.deep.adversarial.CDAN", False),
        ("sklearn.svm.SVC", "elsewhere.SVC", False),
    ],
)
def test_a_record_keeps_its_place_if_a_class_moves_not_if_it_is_another(old, new, same):
    config = {**make_cell(method="dann").config, "and": [{"_target_": "sklearn.svm.SVC"}]}
    text = json.dumps(config)
    assert old in text
    moved = Cell(json.loads(text.replace(old, new)))
    assert (moved.config_sha256 == Cell(config).config_sha256) == same


def test_a_class_that_a_config_names_is_code_of_the_cell_or_a_library_if_it_is_of_a_package():
    plain = make_cell("+method.estimator._target_=hydra.x.Estimator")
    own = make_cell("+method.estimator._target_=baselines.subspace_alignment.SubspaceAlignment")
    assert "baselines.subspace_alignment" in own.modules
    assert own.code != plain.code
    assert set(plain.libraries) == {*make_cell().libraries, "hydra-core"}
