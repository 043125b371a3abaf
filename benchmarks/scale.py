"""Scale: KRDA's fit and its transport from a thousand to a million rows, 27 columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.adaptation import D, krda_model, warm_up
from benchmarks.data import domains
from benchmarks.sizes import Sizes
from benchmarks.timing import Case, Prepared

FIT = "KRDA.fit"
TRANSFORM = "KRDA.transform"


def prepare_fit(n: int, max_steps: int) -> Prepared:
    """Prepare a fit to n rows of each domain; it carries the source rows, too."""
    rows = domains(n, D)
    warm_up()

    def describe(model: Any) -> Mapping[str, Any]:
        history = model.history_
        return {"steps": int(history.steps[-1]), "steps_kept": history.best_step}

    return Prepared(lambda: krda_model(max_steps).fit(*rows), describe)


def prepare_transform(n: int, fitted_rows: int, fitted_steps: int) -> Prepared:
    """Prepare the transport of n rows by a model fitted to fewer: its cost is that of the rows."""
    model = krda_model(fitted_steps).fit(*domains(fitted_rows, D))
    rows = domains(n, D).Xs
    model.transform(rows[:64])
    return Prepared(lambda: model.transform(rows))


def groups(sizes: Sizes, workspace: Path) -> list[list[Case]]:
    """One group a number of rows."""
    columns = {"d": D}
    return [
        [
            Case(FIT, prepare_fit, {"n": n, "max_steps": sizes.max_steps},
                 {**columns, "n": n}, series="scale fit",
                 run_seconds=3 * sizes.long_seconds),
            Case(TRANSFORM, prepare_transform,
                 {"n": n, "fitted_rows": sizes.fitted_rows, "fitted_steps": sizes.fitted_steps},
                 {**columns, "n": n}, series="scale transform",
                 run_seconds=3 * sizes.long_seconds),
        ]
        for n in sizes.scale
    ]  # fmt: skip
