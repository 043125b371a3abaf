import pytest
from programs import ROOT

from experiments.run import command_line
from experiments.running.jobs import RememberRun


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Give `experiments.run` arguments in this process: exit status, output and errors."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(RememberRun, "directories", [])

    def run(*arguments):
        logging = "hydra/hydra_logging=disabled", "hydra/job_logging=disabled"
        monkeypatch.setattr("sys.argv", ["run", *arguments, *logging])
        return command_line(), *capsys.readouterr()

    return run
