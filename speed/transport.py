"""The Knothe-Rosenblatt transport between two fitted densities, beside autoregressive flows.

All map the same rows: through the source's forward map, then the target's inverse.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from speed.data import domains, standardized
from speed.measure import LOOPS, Case, Prepared, require
from speed.plan import Section, Sizes

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


def _prepare_flow(
    make: Callable[[], Any], forward: Any, inverse: Any, n: int, d: int, dtype: str
) -> Prepared:
    """Prepare a pair of flows with random parameters."""
    import torch

    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    source, target = (make().to(kind).requires_grad_(False) for _ in range(2))
    x = torch.from_numpy(standardized(domains(n, d).Xs)).to(kind)

    @torch.no_grad()
    def transport(rows: Any) -> Any:
        return torch.cat([inverse(target, forward(source, p)) for p in rows.split(_BLOCK)])

    def describe(t: Any) -> Mapping[str, Any]:
        with torch.no_grad():
            asked, reached = forward(source, x[:2_000]), forward(target, t[:2_000])
        return {
            "residual": float((torch.special.ndtr(reached) - torch.special.ndtr(asked)).abs().max())
        }

    transport(x[:64])
    return Prepared(lambda: transport(x), describe)


def prepare_zuko(n: int, d: int, mixture: bool, dtype: str = "float64") -> Prepared:
    """Prepare zuko's masked autoregressive transform: affine, or a mixture of normal CDFs."""
    zuko = require("zuko")
    options: dict[str, Any] = {"hidden_features": (_HIDDEN,)}
    if mixture:
        options["univariate"] = zuko.transforms.GaussianizationTransform
        options["shapes"] = [(_COMPONENTS,), (_COMPONENTS,)]
    make = partial(zuko.flows.MaskedAutoregressiveTransform, d, **options)
    return _prepare_flow(make, lambda f, x: f()(x), lambda f, z: f().inv(z), n, d, dtype)


def prepare_nflows(n: int, d: int) -> Prepared:
    """Prepare nflows' masked affine autoregressive transform, one hidden layer."""
    require("nflows")
    transforms = importlib.import_module("nflows.transforms")
    make = partial(transforms.MaskedAffineAutoregressiveTransform, d, _HIDDEN, num_blocks=1,
                   use_residual_blocks=False)  # fmt: skip
    return _prepare_flow(make, lambda f, x: f(x)[0], lambda f, z: f.inverse(z)[0], n, d, "float64")


def groups(sizes: Sizes) -> Iterator[list[Case]]:
    """One group a number of columns and rows."""
    for d, n in sizes.transport:
        rows = {"n": n, "d": d}
        ours = {**rows, "steps": sizes.few_steps}
        case = partial(Case, columns={"d": d, "n": n}, compared_to=OURS)
        yield [
            case(OURS, prepare_krda, ours),
            *(case(f"{OURS}, {k} threads", prepare_krda, ours, threads=k) for k in sizes.threads),
            case(f"{OURS}, not compiled", prepare_krda, ours, without=LOOPS),
            case(f"{OURS}, bisection", prepare_krda, {**ours, "method": "bisection"},
                 series=f"bisection {d}"),
            case("zuko, mixture of normal CDFs", prepare_zuko, {**rows, "mixture": True},
                 series=f"zuko mixture {d}"),
            case("zuko, affine", prepare_zuko, {**rows, "mixture": False}, series=f"zuko {d}"),
            case("zuko, affine, float32", prepare_zuko,
                 {**rows, "mixture": False, "dtype": "float32"}, series=f"zuko single {d}"),
            case("nflows, affine", prepare_nflows, rows, series=f"nflows {d}"),
        ]  # fmt: skip


SECTION = Section(
    "transport", "Transport between two fitted densities", groups, ("d", ("seconds",))
)
