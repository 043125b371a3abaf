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


@pytest.fixture
def output_of(capsys):
    """What the `main` of a module prints, if it ends with the status that is expected."""

    def run(module, *arguments, status=0):
        assert module.main(list(map(str, arguments))) == status
        return capsys.readouterr().out

    return run
