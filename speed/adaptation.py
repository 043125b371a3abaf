"""A whole adaptation, from rows to the transported source, beside POT; and its growth with n."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from speed.data import domains, standardized
from speed.measure import LOOPS, Case, Prepared, require, require_memory
from speed.plan import Section, Sizes

OURS = "KRDA, fit and transform"
FIT, TRANSFORM = "KRDA.fit", "KRDA.transform"
_D = 27


def krda_model(max_steps: int) -> Any:
    """KRDA with a classifier that costs nothing, so that its fit is the adaptation alone."""
    from sklearn.dummy import DummyClassifier

    from krda import KRDA

    return KRDA(classifier=DummyClassifier(), max_steps=max_steps, random_state=0)


def prepare_fit(n: int, d: int, max_steps: int) -> Prepared:
    """Prepare KRDA's fit, which transports the source rows for its classifier."""
    rows = domains(n, d)
    krda_model(5).fit(*domains(40, 2))  # libraries load what they need on first use

    def describe(model: Any) -> Mapping[str, Any]:
        history = model.history_
        return {"steps": int(history.steps[-1]), "steps_kept": history.best_step}

    return Prepared(lambda: krda_model(max_steps).fit(*rows), describe)


def prepare_transform(n: int, d: int, max_steps: int) -> Prepared:
    """Prepare the transport of n rows by a model fitted to 2,000: its cost is that of the rows."""
    model = krda_model(max_steps).fit(*domains(2000, d))
    rows = domains(n, d).Xs
    model.transform(rows[:64])
    return Prepared(lambda: model.transform(rows))


def prepare_pot(n: int, d: int, kind: str) -> Prepared:
    """Prepare a plan of POT's domain adaptation classes, on standardised rows."""
    # The cost, the plan, and what normalising and solving copies of them.
    require_memory(4 * 8.0 * n * n, f"a plan of {n} x {n} with its cost and copies")
    require("ot")
    from ot import da

    rows = domains(n, d)
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


def _groups(sizes: Sizes) -> Iterator[list[Case]]:
    for n in sizes.adaptation:
        rows = {"n": n, "d": _D}
        case = partial(Case, columns={"d": _D, "n": n}, compared_to=OURS)
        yield [
            case(OURS, prepare_fit, {**rows, "max_steps": sizes.max_steps},
                 series="adaptation KRDA", limit=sizes.long_seconds),
            case("POT, exact (EMD)", prepare_pot, {**rows, "kind": "emd"}, series="EMD"),
            case("POT, Sinkhorn", prepare_pot, {**rows, "kind": "sinkhorn"}, series="Sinkhorn"),
        ]  # fmt: skip


def _groups_of_scale(sizes: Sizes) -> Iterator[list[Case]]:
    for n in sizes.scale:
        rows, steps = {"n": n, "d": _D}, sizes.max_steps
        case = partial(Case, columns={"d": _D, "n": n}, limit=3 * sizes.long_seconds)
        yield [
            case(FIT, prepare_fit, {**rows, "max_steps": steps}, series="fit"),
            case(f"{FIT}, not compiled", prepare_fit, {**rows, "max_steps": steps}, without=LOOPS,
                 compared_to=FIT, series="plain fit"),
            case(TRANSFORM, prepare_transform, {**rows, "max_steps": sizes.few_steps},
                 series="transform"),
        ]  # fmt: skip


ADAPTATION = Section(
    "adaptation",
    "Whole adaptation: fit and transport the source",
    _groups,
    (None, ("seconds", "peak_mb")),
)
SCALE = Section("scale", "Scale", _groups_of_scale, (None, ("seconds", "peak_mb")))
