"""The example method of docs/adding.md, as a newcomer would copy it."""

import re
import textwrap

import numpy as np
import pytest
import yaml
from programs import ROOT, run_python
from record_factory import make_record

from baselines.reference import SourceOnly
from experiments.catalogue import CONFIG_DIRECTORY, DESCRIPTIVE
from experiments.store.records import RecordStore

PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")


def block(language, number=0):
    """A block of code of the page in a language, by default the first."""
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", PAGE, re.DOTALL | re.MULTILINE)
    return textwrap.dedent(found[number])


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "my_method.py"
    path.write_text(block("python"), encoding="utf-8")
    return path


def test_results_of_two_files_are_read_as_a_frame(tmp_path, monkeypatch, capsys):
    store = RecordStore(tmp_path / "reproduction" / "records")
    store.write(make_record("csv", "labels", "sa", 0.5, 0.75))
    monkeypatch.chdir(tmp_path)
    exec(compile(block("python", 1), "page", "exec"), {})
    assert capsys.readouterr().out.splitlines()[1].split() == ["labels", "sa", "0.625"]


def lint(*command):
    done = run_python("-m", *command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_passes_ruffs_format_and_rules(module):
    config = ("--config", ROOT / "pyproject.toml", "--no-cache", module)
    lint("ruff", "format", "--check", *config)
    lint("ruff", "check", *config)


@pytest.mark.slow
def test_it_passes_mypys_strict_rules(module):
    lint("mypy", "--config-file", ROOT / "pyproject.toml", module)


def test_it_adapts_with_the_settings_of_its_config():
    space = {}
    exec(compile(block("python"), "my_method.py", "exec"), space)
    settings = yaml.safe_load(block("yaml"))
    assert settings.pop("_target_") == f"baselines.my_method.{space['MyMethod'].__name__}"
    for key in ("name", "quick", "classifier", *DESCRIPTIVE):
        settings.pop(key)
    rng = np.random.default_rng(0)
    ys = np.arange(60) % 2
    Xs = rng.normal(size=(60, 2)) + 4 * ys[:, None]
    Xt = Xs + 10
    adapted = space["MyMethod"](**settings).fit(Xs, ys, Xt)
    assert (adapted.predict(Xt) == ys).all()
    assert (SourceOnly().fit(Xs, ys, Xt).predict(Xt) == ys).mean() < 0.6


def test_the_configs_that_it_names_for_copying_are_there():
    named = set(re.findall(r"configs/(\w+/\w+\.yaml)", PAGE))
    copied = {name for name in named if "my_" not in name}
    assert copied
    assert all((CONFIG_DIRECTORY / name).is_file() for name in copied)
