"""The Knothe-Rosenblatt transport between two fitted densities, and autoregressive flows' own.

All carry the same rows: through the source's forward map, then the target's inverse. What differs
is said in the notes of :data:`benchmarks.sections.SECTIONS`.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.compiled import set_compiled
from benchmarks.data import domains
from benchmarks.sizes import Sizes
from benchmarks.timing import Case, NotRun, Prepared, require

NEWTON = "KR transport"
BISECTION = "KR transport, bisection"
NOT_COMPILED = "KR transport, not compiled"
HIDDEN, COMPONENTS = 50, 5
EPS = 1e-8

# Rows that the peers are given at a time: blocks suit them, which take whole tables, too.
_BLOCK = 2_048


def fitted(path: Path, d: int, rows: int, steps: int) -> dict[str, Any]:
    """Give two fitted densities and the scales of their columns; fit them where nobody has."""
    import numpy as np
    import torch

    from krda.rnade import RNADE
    from krda.training import TrainingOptions, fit_maximum_likelihood

    if not path.is_file():
        drawn = domains(rows, d)
        scales = [(X.mean(axis=0), X.std(axis=0)) for X in (drawn.Xs, drawn.Xt)]
        tables = [
            torch.from_numpy(np.float32((X - m) / s))
            for X, (m, s) in zip((drawn.Xs, drawn.Xt), scales, strict=True)
        ]
        model = RNADE(d, n_components=COMPONENTS, hidden_size=HIDDEN, sigma_floor=0.01)
        fit_maximum_likelihood(model, tables, TrainingOptions(max_steps=steps))
        both = {"source": model.density(0), "target": model.density(1), "scale": scales[0]}
        path.write_bytes(pickle.dumps(both))
    return dict(pickle.loads(path.read_bytes()))


def rows_to_carry(n: int, d: int, scale: Any) -> Any:
    """Fresh source rows, standardised as the densities' were, as a float64 tensor."""
    import torch

    mean, std = scale
    return torch.from_numpy((domains(n, d).Xs - mean) / std)


def prepare_half(model: Mapping[str, Any], n: int, d: int, half: str) -> Prepared:
    """Prepare one half of our transport: the source's forward map, or the target's inverse."""
    import torch

    from krda.transport import BLOCK_ROWS

    set_compiled(True)
    both = fitted(**model, d=d)
    x = rows_to_carry(n, d, both["scale"])
    with torch.no_grad():
        u = both["source"].rosenblatt(x).clamp(EPS, 1 - EPS)
    work, rows = {
        "forward": (both["source"].rosenblatt, x),
        "inverse": (both["target"].inverse_rosenblatt, u),
    }[half]

    with torch.no_grad():
        work(rows[:64])

    def run() -> Any:
        with torch.no_grad():
            return torch.cat([work(part) for part in rows.split(BLOCK_ROWS)])

    return Prepared(run)


def prepare_krda(
    model: Mapping[str, Any], n: int, d: int, method: str, compiled: bool = True
) -> Prepared:
    """Prepare our transport with a way to invert the conditionals."""
    import torch

    from krda.transport import knothe_rosenblatt

    set_compiled(compiled)
    both = fitted(**model, d=d)
    source = replace(both["source"], quantile_method=method)
    target = replace(both["target"], quantile_method=method)
    x = rows_to_carry(n, d, both["scale"])
    knothe_rosenblatt(source, target, x[:64])

    def describe(t: Any) -> Mapping[str, Any]:
        with torch.no_grad():
            asked = source.rosenblatt(x[:10_000]).clamp(EPS, 1 - EPS)
            reached = target.rosenblatt(t[:10_000])
        return {"residual": float((reached - asked).abs().max())}

    return Prepared(lambda: knothe_rosenblatt(source, target, x, eps=EPS), describe)


def _prepare_flow(
    flows: tuple[Any, Any], x: Any, forward: Any, inverse: Any, blocks: int
) -> Prepared:
    """Prepare a pair of flows: the source's forward map, then the target's inverse, by blocks."""
    import torch

    def run() -> Any:
        with torch.no_grad():
            parts = [inverse(flows[1], forward(flows[0], part)) for part in x.split(blocks)]
        return torch.cat(parts)

    def describe(t: Any) -> Mapping[str, Any]:
        with torch.no_grad():
            asked, reached = forward(flows[0], x[:2_000]), forward(flows[1], t[:2_000])
        error = torch.special.ndtr(reached) - torch.special.ndtr(asked)
        return {"residual": float(error.abs().max())}

    with torch.no_grad():
        inverse(flows[1], forward(flows[0], x[:64]))
    return Prepared(run, describe)


def prepare_zuko(model: Mapping[str, Any], n: int, d: int, univariate: str, dtype: str) -> Prepared:
    """Prepare zuko's masked autoregressive transform: affine, or a mixture of normal CDFs."""
    zuko = require("zuko")
    import torch

    if univariate == "affine":
        options: dict[str, Any] = {}
    else:
        options = {
            "univariate": zuko.transforms.GaussianizationTransform,
            "shapes": [(COMPONENTS,), (COMPONENTS,)],
        }
    scale = fitted(**model, d=d)["scale"]
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    flows = tuple(
        zuko.flows.MaskedAutoregressiveTransform(d, hidden_features=(HIDDEN,), **options)
        .to(kind)
        .requires_grad_(False)
        for _ in range(2)
    )
    return _prepare_flow(
        (flows[0], flows[1]),
        rows_to_carry(n, d, scale).to(kind),
        lambda flow, x: flow()(x),
        lambda flow, z: flow().inv(z),
        _BLOCK,
    )


def prepare_nflows(model: Mapping[str, Any], n: int, d: int) -> Prepared:
    """Prepare nflows' masked affine autoregressive transform, one hidden layer."""
    require("nflows")
    import torch

    transforms = importlib.import_module("nflows.transforms")

    scale = fitted(**model, d=d)["scale"]
    torch.manual_seed(0)
    flows = tuple(
        transforms.MaskedAffineAutoregressiveTransform(
            d, HIDDEN, num_blocks=1, use_residual_blocks=False
        )
        .double()
        .requires_grad_(False)
        for _ in range(2)
    )
    return _prepare_flow(
        (flows[0], flows[1]),
        rows_to_carry(n, d, scale),
        lambda flow, x: flow(x)[0],
        lambda flow, z: flow.inverse(z)[0],
        _BLOCK,
    )


def prepare_mpart() -> Prepared:
    """Say why MParT's triangular map is not here."""
    raise NotRun("mpart has no wheel, see above")


def groups(sizes: Sizes, workspace: Path) -> list[list[Case]]:
    """One group a dimension and number of rows; ratios are to our own transport, one thread."""
    found = []
    for d, numbers in sizes.transport:
        model = {
            "path": workspace / f"densities-{d}.pickle",
            "rows": sizes.fitted_rows,
            "steps": sizes.fitted_steps,
        }
        for n in numbers:
            one = {"model": model, "n": n, "d": d}
            case = partial(Case, columns={"d": d, "n": n}, compared_to=NEWTON)
            mixture, affine, single = (
                {**one, "univariate": "mixture", "dtype": "float64"},
                {**one, "univariate": "affine", "dtype": "float64"},
                {**one, "univariate": "affine", "dtype": "float32"},
            )
            found.append(
                [
                    case(NEWTON, prepare_krda, {**one, "method": "newton"}),
                    *(
                        case(f"{NEWTON}, {threads} threads", prepare_krda,
                             {**one, "method": "newton"}, threads=threads)
                        for threads in sizes.threads
                    ),
                    *(
                        case(f"{NEWTON}, {half} half", prepare_half, {**one, "half": half})
                        for half in ("forward", "inverse")
                    ),
                    case(NOT_COMPILED, prepare_krda,
                         {**one, "method": "newton", "compiled": False}),
                    case(BISECTION, prepare_krda, {**one, "method": "bisection"},
                         series=f"bisection {d}"),
                    case("zuko, mixture of normal CDFs", prepare_zuko, mixture,
                         series=f"zuko mixture {d}"),
                    case("zuko, affine", prepare_zuko, affine, series=f"zuko affine {d}"),
                    case("zuko, affine, float32", prepare_zuko, single, series=f"zuko single {d}"),
                    case("nflows, affine", prepare_nflows, one, series=f"nflows {d}"),
                    case("MParT, triangular map", prepare_mpart, {}),
                ]
            )  # fmt: skip
    return found
