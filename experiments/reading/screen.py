"""What a run found, on the screen: means over the tasks beside the paper's, and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Column
from rich.table import Table as Grid

from experiments.analysis.cells import KRDA
from experiments.analysis.rounding import MISSING
from experiments.analysis.table import Table
from experiments.analysis.verdicts import Verdict
from experiments.reading.summary import in_order, leaders
from experiments.reading.wording import mean_text

COLOURS = {Verdict.REPRODUCED: "green", Verdict.WORSE: "red", Verdict.INCOMPLETE: "yellow"}


def show_results(tables: Sequence[Table], methods: Sequence[str] | None) -> None:
    """Print the methods that were asked for, or of several tables those that matter most."""
    for table in in_order(tables):
        few = None if len(tables) == 1 else ("source_only", *leaders(table), KRDA)
        if few and "" in few:  # KRDA has not been run
            few = tuple(table.cells.method[table.cells.recorded])
        means = table.means["mean"]
        grid = Grid(
            Column("Method", width=29, no_wrap=True), Column("Mean (%)", width=13, justify="right"),
            Column("Paper", width=6, justify="right"), Column("Verdicts by task"),
            title=". ".join((table.plan.title, *table.notes)), title_justify="left",
            title_style="bold", box=None,
        )  # fmt: skip
        for method, row in means[means.index.isin(methods or few or means.index)].iterrows():
            counts = table.cells.verdict[table.cells.method == method].value_counts()
            said = ", ".join(
                f"[{COLOURS.get(verdict, 'default')}]{n} {verdict}[/]"
                for verdict, n in counts.items()
                if verdict not in (Verdict.NO_PUBLISHED, Verdict.NOT_COMPARABLE)
            )
            paper = mean_text(row, "published") if row.in_paper else MISSING
            grid.add_row(row.label, mean_text(row, "ours"), paper, said)
        Console().print(grid, "")
