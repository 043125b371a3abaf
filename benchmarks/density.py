"""Fitting the densities: RNADE on both domains at once, as KRDA trains it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.data import domains, standardized
from benchmarks.sizes import Sizes
from benchmarks.timing import Case, Prepared


def prepare_fit(n: int, d: int, max_steps: int) -> Prepared:
    """Prepare the fit of one RNADE to n rows of each domain, KRDA's settings throughout."""
    import torch

    from krda.rnade import RNADE
    from krda.training import (
        TrainingHistory,
        TrainingOptions,
        fit_maximum_likelihood,
        raise_if_diverged,
    )

    # What libraries load on first use is no case's time or memory.
    few = [torch.randn(8, 2) for _ in range(2)]
    fit_maximum_likelihood(RNADE(2), few, TrainingOptions(max_steps=2))
    rows = domains(n, d)
    tables = [torch.from_numpy(standardized(X)).to(torch.float32) for X in (rows.Xs, rows.Xt)]
    options = TrainingOptions(max_steps=max_steps)

    def fit() -> TrainingHistory:
        model = RNADE(d, sigma_floor=0.01)
        history = fit_maximum_likelihood(model, tables, options)
        raise_if_diverged(history)
        return history

    def describe(history: TrainingHistory) -> Mapping[str, Any]:
        steps = int(history.steps[-1])
        return {"steps": steps, "steps_kept": history.best_step}

    return Prepared(fit, describe)


def groups(sizes: Sizes, workspace: Path) -> list[list[Case]]:
    """One group a dimension and number of rows."""
    return [
        [
            Case(
                "RNADE, both domains",
                prepare_fit,
                {"n": n, "d": d, "max_steps": sizes.max_steps},
                {"d": d, "n": n},
                series=f"density {d}",
                run_seconds=sizes.long_seconds,
            )
        ]
        for d, numbers in sizes.density
        for n in numbers
    ]
