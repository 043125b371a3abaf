"""What the verdicts of ``krda adapt`` are worth (docs/own_tables.md).

``python -m studies.verdicts`` asks for a verdict on the simulated tables of
``studies.simulated_shifts`` and on the real ones of ``dataset=tables``, three draws of each task,
and compares the advised predictions with those of every single method, and with themselves if only
the surest rows are kept: those on which more classifiers agree, then the more probable. It writes
``results/verdicts/simulated.csv`` and ``tables.csv``, one row for each pair of tables. Labels of
the target are read to score, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.cells.protocol import Protocol, draw_repetition
from experiments.datasets.base import unlock
from experiments.datasets.tables import Tables
from experiments.reading.markdown import fill, grid
from experiments.store.frame import write_csv
from krda.adaptation.adapt import Pair
from studies.common import ROOT, command
from studies.simulated_shifts import KINDS, N_TABLES, draw

FOLDER, PAGE = ROOT / "results/verdicts", ROOT / "docs/own_tables.md"
CLOSE = 2.0  # points within which a method is as good as another
SINGLE = ("plain", "reweighted", "standardize", "quantiles", "linear", "affine")
N_DRAWS = 3
KEPT = (100, 90, 80, 70, 60, 50)  # percent of the rows, the surest first


def simulated() -> Iterator[tuple[str, int, Any]]:
    """Give the simulated tables: kind, number, and source, labels, target, its labels."""
    for number in range(N_TABLES):
        for kind in KINDS:
            tables = draw(kind, number)
            yield kind, number, (tables.Xs, tables.ys, tables.Xt, tables.Xt, tables.yt)


def real() -> Iterator[tuple[str, int, Any]]:
    """Give the draws of the real tables."""
    data = Tables()
    for name in data.task_names:
        task = data.task(name)
        for number in range(N_DRAWS):
            d = draw_repetition(task, number, Protocol(N_DRAWS, 0.8, 0.8, 400))
            yield name, number, (d.Xs, d.ys, d.Xt, d.X_test, unlock(d.y_test))


def measure(name: str, number: int, tables: Any) -> dict[str, Any]:
    """Ask for a verdict, and score all methods."""
    Xs, ys, Xt, X_test, y_test = tables
    source, target, test = _frame(Xs).assign(label=ys), _frame(Xt), _frame(X_test)
    pair = Pair.of(source, target, "label", random_state=number)
    found = pair.adapt()
    predicted, verdict = found.predict(test), found.verdict
    hits, kept = predicted["prediction"].to_numpy() == y_test, ~predicted["abstain"].to_numpy()
    covered, sure = 100 * kept.mean(), 100 * hits[kept].mean() if kept.any() else np.nan
    accuracies = {"auto": 100 * hits.mean()}
    for method in SINGLE:
        said = pair.fit(method).predict(pair.encoder.transform(test))
        accuracies[method] = 100 * (said == y_test).mean()
    best = max(accuracies[method] for method in SINGLE)
    probable = predicted.filter(regex="^probability_").to_numpy().max(axis=1)
    by_doubt = np.lexsort((-probable, -predicted["agreement"].to_numpy()))
    shares = {
        f"right_{k}": 100 * hits[by_doubt[: max(1, k * len(hits) // 100)]].mean() for k in KEPT
    }
    row = {
        "task": name, "draw": number, "advice": verdict.advice, "shift": verdict.numbers["shift"],
        **{k: round(v, 2) for k, v in accuracies.items()}, "best": round(best, 2),
        "covered": round(covered, 2), "accuracy_covered": round(sure, 2),
        "agreement": verdict.numbers["agreement"], **{k: round(v, 2) for k, v in shares.items()},
    }  # fmt: skip
    print(*row.values(), flush=True)
    return row


def means(rows: dict[str, pd.DataFrame]) -> str:
    """Mean accuracies of the advised predictions and of each single method."""
    shown = ["auto", *SINGLE, "best"]
    names = {"auto": "as advised", "best": "best of these each time"}
    cells = [[which, *(f"{frame[m].mean():.1f}" for m in shown)] for which, frame in rows.items()]
    return grid(["tables", *(names.get(m, m) for m in shown)], cells)


def curve(rows: dict[str, pd.DataFrame]) -> str:
    """Mean accuracies on the surest rows."""
    header = ["tables", *(f"{k} % of the rows" for k in KEPT)]
    cells = [[w, *(f"{f[f'right_{k}'].mean():.1f}" for k in KEPT)] for w, f in rows.items()]
    return grid(header, cells)


def counts(rows: dict[str, pd.DataFrame]) -> str:
    """How often each advice was given, and how far its predictions are from those of others."""
    header = [
        "tables", "advice", "given", "points below the best", "below the best", "below plain",
        "below standardised", "rows not abstained from", "right on these",
    ]  # fmt: skip
    cells = []
    for which, frame in rows.items():
        for advice, part in frame.groupby("advice", sort=True):
            behind = [
                (part[m] - part["auto"] > CLOSE).sum() for m in ("best", "plain", "standardize")
            ]
            cells.append(
                [which, advice, len(part), f"{(part['best'] - part['auto']).mean():.1f}", *behind]
                + [f"{part[c].mean():.0f} %" for c in ("covered", "accuracy_covered")]
            )
    return grid(header, [[str(cell) for cell in line] for line in cells])


def render() -> None:
    """Write the tables of the page."""
    rows = {which: pd.read_csv(FOLDER / f"{which}.csv") for which in ("simulated", "tables")}
    tables = "\n\n".join([means(rows), counts(rows), curve(rows)])
    fill(PAGE, "verdicts", tables)


def _frame(X: NDArray[Any]) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = command("verdicts", "Count right and wrong verdicts.")
    parser.add_argument("--render", action="store_true", help="write the page only")
    options = parser.parse_args(arguments)
    for which, tables in (("simulated", simulated), ("tables", real)):
        if not options.render:
            rows = pd.DataFrame([measure(*given) for given in tables()])
            write_csv(rows, FOLDER / f"{which}.csv")
    render()


if __name__ == "__main__":
    main()
