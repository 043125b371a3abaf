"""What a terminal shows: a bar that fits, and results with their colours."""

import io
import re

import pytest
from cell_factory import make_cell
from made_up import plan_of, random_values, runs_of
from rich.console import Console

from experiments import console
from experiments.analysis.table import Table
from experiments.reading import screen
from experiments.running import progress
from experiments.running.engine import Ended

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def terminal(monkeypatch):
    """Take what is shown on a terminal of 80 columns."""
    out = io.StringIO()

    def made(**settings):
        return Console(file=out, force_terminal=True, width=80, **settings)

    for module in (progress, screen):
        monkeypatch.setattr(module, "Console", made)
    monkeypatch.setattr("rich.console.Console", made)
    return out


def test_progress_fits_80_columns_with_its_bar_count_and_time_first(terminal):
    cells = [make_cell(f"dataset.angle={10 * i}", method="krda_reversed") for i in range(1, 10)]
    seconds = {cell.config_sha256[:12]: 60.0 for cell in cells}
    shown = progress.RunProgress(cells, seconds, 4)
    with shown.bar:
        shown.show(Ended(cells[0], None, "made up"))
        shown.bar.refresh()
    lines = ESCAPES.sub("", terminal.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= 80
    assert re.search(
        r"1/9 (about \d+\.\d min|under a minute) left moons/20 krda_reversed, ", lines[-1]
    )
    assert any(line.startswith("failed: moons/10 krda_reversed: made up") for line in lines)


@pytest.mark.parametrize("colour", [True, False])
def test_states_have_colours_unless_no_color_is_set(terminal, monkeypatch, colour):
    monkeypatch.delenv("NO_COLOR", raising=False)
    if not colour:
        monkeypatch.setenv("NO_COLOR", "1")
    console.say("moons: 9 cells: 8 done, 1 stale")
    assert ("\x1b[32m8 done" in terminal.getvalue()) == colour
    assert ESCAPES.sub("", terminal.getvalue()) == "moons: 9 cells: 8 done, 1 stale\n"


def test_results_show_mean_paper_and_verdicts_of_what_was_asked_for(terminal):
    plan = plan_of()
    table = Table(plan, runs_of(random_values(plan, 0)))
    screen.show_results([table], ["krda", "jan"])
    text = ESCAPES.sub("", terminal.getvalue())
    assert max(map(len, text.splitlines())) <= 80
    means = table.means["mean"].loc["krda"]
    assert re.search(rf"KRDA +{means.ours:.1f} ± [\d.]+ +{means.published:.1f} +\d", text)
    assert "JAN" in text
    assert "DANN" not in text
