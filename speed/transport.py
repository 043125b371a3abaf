"""The Knothe-Rosenblatt transport between two fitted densities, beside autoregressive flows.

All map the same rows: through the source's forward map, then the target's inverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from speed.data import domains, standardized
from speed.fits import WITHOUT
from speed.measure import Case, Prepared, require
from speed.plan import Sizes

OURS = "KR transport"
_COMPONENTS, _HIDDEN, _EPS, _BLOCK = 5, 50, 1e-8, 2048


def prepare_krda(n: int, d: int, steps: int, method: Any = "newton") -> Prepared:
    """Prepare our map between the densities of a KRDA that was fitted to 2,000 rows."""
    import torch
    from sklearn.dummy import DummyClassifier

    from krda import KRDA, knothe_rosenblatt

    model = KRDA(_COMPONENTS, _HIDDEN, classifier=DummyClassifier(), max_steps=steps,
                 quantile_method=method, random_state=0)  # fmt: skip
    model.fit(*domains(2000, d))
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
    import torch

    zuko = require("zuko")
    options: dict[str, Any] = {"hidden_features": (_HIDDEN,)}
    if mixture:
        options["univariate"] = zuko.transforms.GaussianizationTransform
        options["shapes"] = [(_COMPONENTS,), (_COMPONENTS,)]
    torch.manual_seed(0)
    source, target = (
        zuko.flows.MaskedAutoregressiveTransform(d, **options).double().requires_grad_(False)
        for _ in range(2)
    )
    x = torch.from_numpy(standardized(domains(n, d).Xs))

    @torch.no_grad()
    def transport(rows: Any) -> Any:
        return torch.cat([target().inv(source()(part)) for part in rows.split(_BLOCK)])

    def describe(t: Any) -> Mapping[str, Any]:
        with torch.no_grad():
            asked, reached = (
                torch.special.ndtr(f()(z[:2_000])) for f, z in ((source, x), (target, t))
            )
        return {"residual": float((reached - asked).abs().max())}

    transport(x[:64])
    return Prepared(lambda: transport(x), describe)


def groups(sizes: Sizes) -> Iterator[list[Case]]:
    """One group a number of columns and rows."""
    case = partial(Case, compared_to=OURS)
    for d, n in sizes.transport:
        rows = {"d": d, "n": n}
        ours = {**rows, "steps": sizes.few_steps}
        yield [
            case(OURS, prepare_krda, ours),
            case(f"{OURS}, 2 threads", prepare_krda, ours, threads=2),
            case(f"{OURS}, not compiled", prepare_krda, ours, without=WITHOUT["not compiled"]),
            case(f"{OURS}, bisection", prepare_krda, {**ours, "method": "bisection"}),
            case("zuko, mixture of normal CDFs", prepare_zuko, {**rows, "mixture": True}),
            case("zuko, affine", prepare_zuko, {**rows, "mixture": False}),
        ]
