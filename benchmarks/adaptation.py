"""A whole adaptation, fitted and the source carried: KRDA beside POT's plans."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.data import domains, standardized
from benchmarks.sizes import Sizes
from benchmarks.timing import Case, Prepared, require, require_memory

KRDA_FIT = "KRDA, fit and transform"
D = 27


def krda_model(max_steps: int) -> Any:
    """KRDA with a classifier that costs nothing, so that its fit is the adaptation alone."""
    from sklearn.dummy import DummyClassifier

    from krda import KRDA

    return KRDA(classifier=DummyClassifier(), max_steps=max_steps, random_state=0)


def warm_up() -> None:
    """Fit a little, so that what libraries load on first use is no case's time or memory."""
    krda_model(5).fit(*domains(40, 2))


def prepare_krda(n: int, max_steps: int) -> Prepared:
    """Prepare KRDA's fit, which carries the source rows for its classifier."""
    rows = domains(n, D)
    warm_up()

    def describe(model: Any) -> Mapping[str, Any]:
        return {"steps": int(model.history_.steps[-1])}

    return Prepared(lambda: krda_model(max_steps).fit(*rows), describe)


def prepare_pot(n: int, kind: str) -> Prepared:
    """Prepare a plan of POT's domain adaptation classes, on standardised rows."""
    # The cost, the plan, and what normalising and solving copies of them.
    require_memory(4 * 8.0 * n * n, f"a plan of {n} x {n} with its cost and copies")
    require("ot")
    from ot import da

    rows = domains(n, D)
    Xs, Xt = standardized(rows.Xs), standardized(rows.Xt)
    warned: list[str] = []

    def run() -> Any:
        solver = (
            da.EMDTransport(max_iter=10_000_000)
            if kind == "emd"
            else da.SinkhornTransport(reg_e=0.1, norm="max")
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            moved = solver.fit(Xs=Xs, Xt=Xt).transform(Xs=Xs)
        warned[:] = [str(warning.message).splitlines()[0] for warning in caught]
        return moved

    return Prepared(run, lambda moved: {"warning": "; ".join(warned)} if warned else {})


def groups(sizes: Sizes, workspace: Path) -> list[list[Case]]:
    """One group a number of rows; ratios are to KRDA."""
    return [
        [
            Case(KRDA_FIT, prepare_krda, {"n": n, "max_steps": sizes.max_steps},
                 {"d": D, "n": n}, series="adaptation KRDA",
                 run_seconds=sizes.long_seconds),
            Case("POT, exact (EMD)", prepare_pot, {"n": n, "kind": "emd"},
                 {"d": D, "n": n}, compared_to=KRDA_FIT, series="adaptation EMD"),
            Case("POT, Sinkhorn", prepare_pot, {"n": n, "kind": "sinkhorn"},
                 {"d": D, "n": n}, compared_to=KRDA_FIT, series="adaptation Sinkhorn"),
        ]
        for n in sizes.adaptation
    ]  # fmt: skip
