"""What is measured, in sections: groups of cases that are compared with each other.

A ``prepare_`` function makes what a case runs, in the process of that case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import torch
from sklearn.dummy import DummyClassifier

from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.moons import Moons
from krda import KRDA, RNADE, TrainingOptions, knothe_rosenblatt
from krda.base import Domains, fit_together
from krda.density.training import fit_maximum_likelihood
from speed.data import domains, standardized
from speed.measure import Case, Limits, Prepared

_D, _REPETITIONS = 27, 5
_EPS, _BLOCK = 1e-8, 2048
# What is switched off, by what the case is then called.
WITHOUT = {
    "not compiled": "krda._fast.loops",
    "training not accelerated": "krda._fast.training",
    "plain code": "krda._fast",
}


@dataclass(frozen=True)
class Sizes:
    """Pairs of columns and rows, rows of 27 columns, and the longest fit."""

    limits: Limits
    transport: tuple[tuple[int, int], ...]
    scale: tuple[int, ...]
    alignment: tuple[int, ...]
    max_steps: int

    @property
    def few_steps(self) -> int:
        """Of fits whose model alone matters: the cost of a row does not depend on them."""
        return max(self.max_steps // 5, 2)


SIZES = {
    "full": Sizes(
        Limits(),
        transport=(*((d, n) for d in (2, 27) for n in (1_000, 10_000, 100_000)), (100, 1_000)),
        scale=(1_000, 10_000, 100_000, 1_000_000),
        alignment=(900, 10_000, 100_000),
        max_steps=1000,
    ),
    "quick": Sizes(
        Limits(3, 0.3, 10.0), ((2, 1_000), (2, 5_000), (27, 500)), (500, 2_000), (300,), 100
    ),
    "tiny": Sizes(Limits(1, 60.0, 60.0), ((3, 50),), (60,), (60,), 5),
}


def krda_model(max_steps: int, **options: Any) -> KRDA:
    """KRDA with a classifier that costs nothing, so that its fit is the adaptation alone."""
    return KRDA(classifier=DummyClassifier(), max_steps=max_steps, random_state=0, **options)


# Transport between two fitted densities


def prepare_krda(n: int, d: int, steps: int, method: Any = "newton") -> Prepared:
    """Prepare our map between the densities of a KRDA that was fitted to 2,000 rows."""
    model = krda_model(steps, quantile_method=method).fit(*domains(2000, d))
    source, target = model.densities_["source"], model.densities_["target"]
    x = torch.from_numpy(standardized(domains(n, d).Xs))
    knothe_rosenblatt(source, target, x[:64])

    def describe(t: Any) -> Mapping[str, Any]:
        with torch.no_grad():
            asked = source.rosenblatt(x[:10_000]).clamp(_EPS, 1 - _EPS)
            return {"residual": float((target.rosenblatt(t[:10_000]) - asked).abs().max())}

    return Prepared(lambda: knothe_rosenblatt(source, target, x, eps=_EPS), describe)


def prepare_zuko(n: int, d: int, mixture: bool) -> Prepared:
    """Prepare zuko's masked autoregressive transform: affine, or a mixture of normal CDFs.

    The parameters of the two flows are random: a trained one costs the same.
    """
    zuko: Any = import_module("zuko")
    options: dict[str, Any] = {"hidden_features": (50,)}
    if mixture:
        options["univariate"] = zuko.transforms.GaussianizationTransform
        options["shapes"] = [(5,), (5,)]
    torch.manual_seed(0)
    source, target = (
        zuko.flows.MaskedAutoregressiveTransform(d, **options).double().requires_grad_(False)
        for _ in range(2)
    )
    x = torch.from_numpy(standardized(domains(n, d).Xs))

    @torch.no_grad()
    def transport(rows: Any) -> Any:
        return torch.cat([target().inv(source()(part)) for part in rows.split(_BLOCK)])

    @torch.no_grad()
    def describe(t: Any) -> Mapping[str, Any]:
        asked, reached = (torch.special.ndtr(f()(z[:2_000])) for f, z in ((source, x), (target, t)))
        return {"residual": float((reached - asked).abs().max())}

    transport(x[:64])
    return Prepared(lambda: transport(x), describe)


def transport_groups(sizes: Sizes) -> Iterator[list[Case]]:
    """One group for each number of columns and rows."""
    ours = "KR transport"
    case = partial(Case, compared_to=ours)
    for d, n in sizes.transport:
        size = {"d": d, "n": n}
        fitted = {**size, "steps": sizes.few_steps}
        yield [
            case(ours, prepare_krda, fitted),
            case(f"{ours}, 2 threads", prepare_krda, fitted, threads=2),
            case(f"{ours}, not compiled", prepare_krda, fitted, without=WITHOUT["not compiled"]),
            case(f"{ours}, bisection", prepare_krda, {**fitted, "method": "bisection"}),
            case("zuko, mixture of normal CDFs", prepare_zuko, {**size, "mixture": True}),
            case("zuko, affine", prepare_zuko, {**size, "mixture": False}),
        ]


# Whole fits


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


def scale_groups(sizes: Sizes) -> Iterator[list[Case]]:
    """Growth with n, and what each accelerator gains."""
    for n in sizes.scale:
        fit = {"d": _D, "n": n, "max_steps": sizes.max_steps}
        yield [
            Case("KRDA.fit", prepare_fit, fit),
            *(
                Case(f"KRDA.fit, {name}", prepare_fit, fit, compared_to="KRDA.fit", without=fast)
                for name, fast in WITHOUT.items()
            ),
            Case("KRDA.transform", prepare_transform, {**fit, "max_steps": sizes.few_steps}),
        ]


# Alignments, which need no density


def prepare_alignment(n: int, d: int, method: str) -> Prepared:
    """Prepare the fit of an alignment, without a classifier that costs anything."""
    rows = domains(n, d)
    make: Any = getattr(import_module("krda"), method)
    make(DummyClassifier()).fit(*domains(40, 2))
    return Prepared(lambda: make(DummyClassifier()).fit(*rows))


def alignment_groups(sizes: Sizes) -> Iterator[list[Case]]:
    """The choice among alignments, and the one of them that costs most."""
    for n in sizes.alignment:
        size = {"d": _D, "n": n}
        yield [
            Case("AutoAdaptation.fit", prepare_alignment, {**size, "method": "AutoAdaptation"}),
            Case("AffineAlignment.fit", prepare_alignment, {**size, "method": "AffineAlignment"},
                 compared_to="AutoAdaptation.fit"),
        ]  # fmt: skip


# Repetitions fitted together


def _drawn(count: int) -> list[Domains]:
    """Draw 90 % of the rows of both domains of moons at 40 degrees, as the protocol does."""
    drawn = (draw_repetition(Moons().task("40"), r, Protocol()) for r in range(count))
    return [Domains(data.Xs, data.ys, data.Xt) for data in drawn]


def prepare_several(count: int, max_steps: int, together: bool = False) -> Prepared:
    """Prepare fits of KRDA to repetitions of a task, with a seed each."""
    given = _drawn(count)
    KRDA(max_steps=1).fit(*given[0])  # libraries load what they need

    def fit_all() -> list[KRDA]:
        models = [KRDA(max_steps=max_steps, random_state=seed) for seed in range(len(given))]
        if not together:
            return [model.fit(*one) for model, one in zip(models, given, strict=True)]
        for error in filter(None, fit_together(models, given)):
            raise error
        return models

    def describe(models: list[KRDA]) -> Mapping[str, Any]:
        steps = sum(int(model.history_.steps[-1]) for model in models)
        return {"repetitions_fitted": len(models), "steps": steps}

    return Prepared(fit_all, describe)


def prepare_plain(max_steps: int) -> Prepared:
    """Prepare the training of one repetition's network by krda.density.training alone."""
    Xs, _, Xt = _drawn(1)[0]
    tables = [torch.from_numpy(standardized(X)).float() for X in (Xs, Xt)]

    def train() -> int:
        model = RNADE(2, sigma_floor=0.01)
        options = TrainingOptions(max_steps=max_steps)
        (history,) = fit_maximum_likelihood([model], [tables], options)
        return int(history.steps[-1])

    return Prepared(train, lambda steps: {"repetitions_fitted": 1, "steps": steps})


def together_groups(sizes: Sizes) -> Iterator[list[Case]]:
    """Repetitions of KRDA trained as one program, beside one and a plain torch loop."""
    one, k, fit = "KRDA, one repetition", _REPETITIONS, {"max_steps": sizes.max_steps}
    several = {**fit, "count": k}
    plain = "Plain training of one repetition's network, without transport and SVM"
    case = partial(Case, compared_to=one)
    yield [
        case(one, prepare_several, {**fit, "count": 1}),
        case(f"KRDA, {k} repetitions one after another", prepare_several, several),
        case(f"KRDA, {k} repetitions together", prepare_several, {**several, "together": True}),
        case(plain, prepare_plain, fit, without="krda._fast"),
    ]


# A section is a file, and a table of the page.
SECTIONS = {
    "transport": transport_groups,
    "scale": scale_groups,
    "together": together_groups,
    "alignment": alignment_groups,
}
