"""Whole fits: beside POT, growing with n, without accelerators, and several at once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from speed.data import domains, standardized
from speed.measure import Case, NotRun, Prepared, require
from speed.plan import Sizes

OURS = "KRDA, fit and transform"
FIT, TRANSFORM = "KRDA.fit", "KRDA.transform"
ONE = "KRDA, one repetition"
PLAIN = "Plain training of one repetition's network, without transport and SVM"
# What is switched off, by what the case is then called.
WITHOUT = {
    "not compiled": "krda._fast.loops",
    "training not accelerated": "krda._fast.training",
    "plain code": "krda._fast",
}
_D, _REPETITIONS = 27, 5
_TASKS = ("40", "20", "60", "80")


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
    needed = 4 * 8 * n * n / 1e9  # the cost, the plan, and what normalising and solving copies
    if needed > 6:
        raise NotRun(f"a plan with its cost and copies would take {needed:.0f} GB, more than 6 GB")
    require("ot")
    from ot import da

    rows = domains(n, d)
    Xs, Xt = standardized(rows.Xs), standardized(rows.Xt)

    def run() -> Any:
        exact = kind == "emd"
        solver = da.EMDTransport(max_iter=10_000_000) if exact else da.SinkhornTransport(
            reg_e=0.1, norm="max"
        )  # fmt: skip
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            moved = solver.fit(Xs=Xs, Xt=Xt).transform(Xs=Xs)
        return moved, [str(warning.message).splitlines()[0] for warning in caught]

    return Prepared(run, lambda result: {"warning": "; ".join(result[1])} if result[1] else {})


def adaptation(sizes: Sizes) -> Iterator[list[Case]]:
    """Cases beside POT, a group for each number of rows."""
    case = partial(Case, compared_to=OURS)
    for n in sizes.adaptation:
        rows = {"d": _D, "n": n}
        yield [
            case(OURS, prepare_fit, {**rows, "max_steps": sizes.max_steps}),
            case("POT, exact (EMD)", prepare_pot, {**rows, "kind": "emd"}),
            case("POT, Sinkhorn", prepare_pot, {**rows, "kind": "sinkhorn"}),
        ]


def scale(sizes: Sizes) -> Iterator[list[Case]]:
    """Growth with n, and what each accelerator gains."""
    for n in sizes.scale:
        rows = {"d": _D, "n": n}
        fit = {**rows, "max_steps": sizes.max_steps}
        yield [
            Case(FIT, prepare_fit, fit),
            *(
                Case(f"{FIT}, {name}", prepare_fit, fit, compared_to=FIT, without=accelerators)
                for name, accelerators in WITHOUT.items()
            ),
            Case(TRANSFORM, prepare_transform, {**rows, "max_steps": sizes.few_steps}),
        ]


def _drawn(n_tasks: int, count: int) -> list[Any]:
    """Draw 90 % of the rows of both domains of moons tasks, as the protocol does."""
    from experiments.cells.protocol import Protocol, draw_repetition
    from experiments.datasets.moons import Moons
    from krda.base import Domains

    tasks = [Moons().task(angle) for angle in _TASKS[:n_tasks]]
    drawn = (draw_repetition(task, r, Protocol()) for task in tasks for r in range(count))
    return [Domains(data.Xs, data.ys, data.Xt) for data in drawn]


def prepare_several(
    count: int, settings: Mapping[str, int], together: bool, n_tasks: int = 1, deep: bool = False
) -> Prepared:
    """Prepare fits of KRDA or DANN to repetitions of some moons tasks, with a seed each."""
    from baselines.deep.adversarial import DANN
    from krda import KRDA
    from krda.base import fit_together

    method: Any = DANN if deep else KRDA
    given = _drawn(n_tasks, count)
    method(**dict.fromkeys(settings, 1)).fit(*given[0])  # libraries load what they need

    def fit_all() -> list[Any]:
        models = [method(**settings, random_state=seed) for seed in range(len(given))]
        if not together:
            return [model.fit(*one) for model, one in zip(models, given, strict=True)]
        errors = [error for error in fit_together(models, given) if error is not None]
        if errors:
            raise errors[0]
        return models

    def describe(models: list[Any]) -> Mapping[str, Any]:
        steps = [m.n_steps_ if deep else int(m.history_.steps[-1]) for m in models]
        return {"repetitions_fitted": len(models), "steps": sum(steps)}

    return Prepared(fit_all, describe)


def prepare_plain(max_steps: int) -> Prepared:
    """Prepare the training of one repetition's network by krda.density.training alone."""
    import torch

    from krda import RNADE, TrainingOptions
    from krda.density.training import fit_maximum_likelihood

    Xs, _, Xt = _drawn(1, 1)[0]
    tables = [torch.from_numpy(standardized(X)).float() for X in (Xs, Xt)]

    def train() -> int:
        model = RNADE(2, sigma_floor=0.01)
        history = fit_maximum_likelihood(model, tables, TrainingOptions(max_steps=max_steps))
        return int(history.steps[-1])

    return Prepared(train, lambda steps: {"repetitions_fitted": 1, "steps": steps})


def together(sizes: Sizes) -> Iterator[list[Case]]:
    """Repetitions of KRDA trained as one program, beside one and a plain torch loop."""
    k, case = _REPETITIONS, partial(Case, compared_to=ONE)
    five = {"count": k, "settings": {"max_steps": sizes.max_steps}}
    yield [
        case(ONE, prepare_several, {**five, "count": 1, "together": False}),
        case(f"KRDA, {k} repetitions one after another", prepare_several,
             {**five, "together": False}),
        case(f"KRDA, {k} repetitions together", prepare_several, {**five, "together": True}),
        case(f"KRDA, {k} repetitions of each of {len(_TASKS)} tasks together", prepare_several,
             {**five, "together": True, "n_tasks": len(_TASKS)}),
        case(PLAIN, prepare_plain, {"max_steps": sizes.max_steps}, without="krda._fast"),
    ]  # fmt: skip


def prepare_dalib(n_epochs: int) -> Prepared:
    """Prepare DANN as one writes it with dalib: its loss and discriminator, one model, a loop."""
    import torch

    from baselines.deep.adversarial import DANN
    from baselines.deep.dalib_compat import DomainDiscriminator, domain_adversarial_loss

    Xs, ys, Xt = _drawn(1, 1)[0]
    source, target = (torch.from_numpy(standardized(X)).float() for X in (Xs, Xt))
    labels = torch.tensor(ys)

    def train() -> int:
        network, discriminator = DANN._network(2, 2, 250, 5), DomainDiscriminator(250, 250)
        transfer = domain_adversarial_loss(discriminator)
        adam = torch.optim.Adam([*network.parameters(), *discriminator.parameters()], lr=1e-3)
        steps = 0
        for _ in range(n_epochs):
            orders = (torch.split(torch.randperm(len(x)), 32) for x in (source, target))
            for i, j in zip(*orders, strict=True):
                (logits, features), (_, others) = network(source[i]), network(target[j])
                loss = torch.nn.functional.cross_entropy(logits, labels[i])
                adam.zero_grad()
                (loss + transfer(features, others)).backward()
                adam.step()
                steps += 1
        return steps

    return Prepared(train, lambda steps: {"repetitions_fitted": 1, "steps": steps})


def deep(sizes: Sizes) -> Iterator[list[Case]]:
    """DANN by the one training loop of the deep baselines, beside dalib's."""
    k, n_epochs = _REPETITIONS, max(30 * sizes.max_steps // 1000, 1)
    ours = {"settings": {"n_epochs": n_epochs}, "deep": True}
    case = partial(Case, compared_to="DANN, dalib's loop, one repetition")
    yield [
        case("DANN, dalib's loop, one repetition", prepare_dalib, {"n_epochs": n_epochs}),
        case("DANN, one repetition", prepare_several, {**ours, "count": 1, "together": False}),
        case(f"DANN, {k} repetitions together", prepare_several,
             {**ours, "count": k, "together": True}),
    ]  # fmt: skip
