"""What the paper says in words, checked on its own numbers and on ours.

``claims.yaml`` lists the claims; each names one judge of :mod:`experiments.analysis.judges`. A
claim that sets KRDA beside other methods is judged twice on ours: among the paper's methods, and
among all rows. On simulated data a verdict is for orientation only.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml

from experiments.analysis import judges
from experiments.analysis.cells import KRDA
from experiments.analysis.sides import COMPETITORS, Side, published_side, side_of
from experiments.analysis.table import Table
from experiments.published import DATASETS, STAND_INS, has_published

if TYPE_CHECKING:
    from experiments.cells.plan import CurvePlan

UNCHECKED = "cannot be checked"
VERDICTS = {True: "holds", False: "does not hold", None: "undecided"}


@dataclass(frozen=True)
class Claim:
    """Something that the paper says; the keys of ``claims.yaml`` say what each field is."""

    id: str
    quote: str
    where: str
    criterion: str = ""
    datasets: Sequence[str] = DATASETS
    judge: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: Sequence[str] = (*COMPETITORS, KRDA)
    why_not: str = ""


@functools.cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the paper."""
    entries = yaml.safe_load(Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8"))
    found = (Claim(**entry) for entry in entries)
    return tuple(replace(c, criterion=c.criterion.format(**c.settings)) for c in found)


def check_claims(
    tables: Iterable[Table], curves: Mapping[str, tuple[CurvePlan, pd.DataFrame]], times: Side
) -> pd.DataFrame:
    """Check every claim on every data set that it is about, a row for each judgement.

    ``curves`` are learning curves with their cells, by name. Columns: ``claim``, ``title``,
    ``stands_in_for`` (the paper's data set, if ours is simulated), ``judged_on`` ('published',
    'ours' or 'all', which is ours among all rows), ``verdict``, ``numbers`` and ``counts``, the
    first of them. In the order of the paper.
    """
    sides: dict[str, list[tuple[str, str, Side | None, Side | None]]] = {
        "time": [("Benchmark: time against rows", "", None, times)]
    }
    for table in tables:
        name, title = table.plan.dataset, table.plan.title
        if has_published(name):
            theirs, ours = published_side(name), side_of(table.cells)
            real = STAND_INS.get(name, "")
            sides.setdefault(real or name, []).append((title, real, theirs, ours))
    for name, (plan, cells) in curves.items():
        theirs = published_side(plan.dataset, plan.task)
        sides[name] = [(plan.title, "", theirs, side_of(cells))]
    found = [
        (claim.id, title, real, *judgement)
        for claim in claims()
        for title, real, theirs, ours in [
            side for dataset in claim.datasets for side in sides.get(dataset, [])
        ]
        or [("", "", None, None)]
        for judgement in _judgements(claim, theirs, ours)
    ]
    columns = ["claim", "title", "stands_in_for", "judged_on", "verdict", "numbers"]
    out = pd.DataFrame(found, columns=columns)
    first = out.numbers.str.partition(";")[0]
    return out.assign(counts=first.where(out.verdict != UNCHECKED, ""))


def _judgements(
    claim: Claim, theirs: Side | None, ours: Side | None
) -> Iterator[tuple[str, str, str]]:
    """What a claim is judged on, verdict and numbers."""
    yield "published", *_judge(claim, None if claim.why_not else theirs)
    yield "ours", *_judge(claim, ours)
    if ours is not None and KRDA in claim.needs and set(COMPETITORS) & set(claim.needs):
        every = ours.among_all()
        if set(every.rivals) - set(COMPETITORS):
            yield "all", *_judge(claim, every)


def _judge(claim: Claim, side: Side | None) -> tuple[str, str]:
    if side is None:
        return UNCHECKED, claim.why_not or "there are no numbers"
    if missing := side.missing(claim.needs):
        return UNCHECKED, f"not complete: {', '.join(missing)}"
    holds, numbers = getattr(judges, claim.judge)(side, **claim.settings)
    if side.left_out:
        numbers += f"; not counted, because not complete: {' / '.join(side.left_out)}"
    return VERDICTS[holds], numbers
