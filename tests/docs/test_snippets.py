"""What README and docs tell a reader to type works: Python runs, commands parse, names exist.

Python blocks of a page are executed one after another. Commands are not: their options are parsed
by their own parsers, their overrides composed by Hydra, and ``make`` says what it would do.
"""

import argparse
import os
import re
import runpy
import shlex
import subprocess
import textwrap
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    path.name: re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))  # continued lines joined
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}

# Commands of other environments, or about files that the reader is to write.
OPTIONAL = ("hydra/sweeper=optuna", "hydra/launcher=ray", "my_", "make_tables.py", "elsewhere/")


def python_blocks(text):
    found = re.findall(r"^ *```python\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def commands(text):
    """Commands in fenced and indented blocks and in inline code, without what explains them."""
    found, fence = [], None
    for line in text.splitlines():
        if line.strip().startswith("```"):
            fence = None if fence is not None else line.strip().removeprefix("```")
        elif fence in ("", "bash") or (fence is None and line.startswith("    ")):
            found.append(re.split(r"\s{3,}|\s#", line.strip())[0])
    found += re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    pattern = r"(?:[A-Z_0-9]+=\S+ +)*(?:\.venv/bin/)?(python |make |pip |krda \w+ \S+\.)"
    return dict.fromkeys(one.partition(" && ")[0] for one in found if re.match(pattern, one))


COMMANDS = [
    pytest.param(command, id=f"{name}: {command[:60]}")
    for name, text in PAGES.items()
    for command in commands(text)
    if not any(part in command for part in OPTIONAL)
]


class Parsed(Exception):
    """Raised when a command line was found right, in place of running it."""


def parse_only(parse):
    """Make a method of a parser that ends the program when it has parsed the command line."""

    def parse_and_end(self, args=None, namespace=None):
        parse(self, args, namespace)
        raise Parsed

    return parse_and_end


def compose(overrides):
    """Compose the config of a run or a sweep by Hydra, at the first value of each list."""
    from hydra import compose, initialize_config_dir

    single = [
        re.sub(r"=range\(.*|(=[^\[{']*?),.*", lambda m: m[1] or "=1", o)
        for o in overrides
        if "=" in o
    ]
    with initialize_config_dir(str(ROOT / "configs"), version_base="1.3"):
        compose("benchmark", single, return_hydra_config=True)


@pytest.mark.filterwarnings("ignore")  # of programs that are loaded a second time
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_one_that_its_program_understands(command, monkeypatch, capsys):
    words = shlex.split(command)
    while re.match(r"[A-Z_0-9]+=", words[0]):  # the environment
        words.pop(0)
    if words[0] == "make":
        done = subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return
    if "pip" in words:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
            "optional-dependencies"
        ]
        for named in re.findall(r"[.a]\[([\w,-]+)\]", command):
            assert set(named.split(",")) <= set(extras)
        return
    program, arguments = (words[0], words[1:]) if words[0] == "krda" else (words[1], words[2:])
    if program == "-m":
        program, *arguments = arguments
    if program == "experiments.run":
        compose(arguments)
        return
    for method in ("parse_args", "parse_intermixed_args"):
        monkeypatch.setattr(
            argparse.ArgumentParser, method, parse_only(getattr(argparse.ArgumentParser, method))
        )
    monkeypatch.setattr("sys.argv", [program, *arguments])
    monkeypatch.setattr("experiments.threads.limit_threads", lambda **options: None)
    script = program.endswith(".py")
    run, what = (runpy.run_path, str(ROOT / program)) if script else (runpy.run_module, program)
    with pytest.raises((Parsed, SystemExit)) as end:
        run(what, run_name="__main__")
    assert end.type is Parsed or not end.value.code, capsys.readouterr().err  # 0 after --help


def given(folder, codes):
    """What the pages call the reader's own: tables, labels, a classifier, and two CSV files."""
    rng = np.random.default_rng(0)
    ys = np.arange(80) % 2
    Xs = rng.normal(size=(80, 2)) + 2 * ys[:, None]
    Xt = 3 * Xs + 1
    if codes:  # of the page that encodes them
        Xs, Xt = rng.integers(5, size=(2, 80, 2)).astype(float)
    raw = pd.DataFrame({"x": Xs[:, 0], "plan": np.where(ys, "a", "b"), "label": ys})
    raw.to_csv(folder / "raw_source.csv", index=False)
    raw.drop(columns="label").to_csv(folder / "raw_target.csv", index=False)
    return {"Xs": Xs, "ys": ys, "Xt": Xt, "classifier": LogisticRegression()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of fits to rows as few as these
@pytest.mark.parametrize("name", [n for n, text in PAGES.items() if python_blocks(text)])
def test_the_python_of_a_page_runs(name, tmp_path, monkeypatch, capsys):
    if name == "adding.md":
        pytest.skip("tests/experiments/test_adding_page.py runs it")
    monkeypatch.chdir(tmp_path)
    space = given(tmp_path, codes=name == "scikit_learn.md")
    with config_context():  # pages may change the configuration of scikit-learn
        for block in python_blocks(PAGES[name]):
            exec(compile(block, name, "exec"), space)
    capsys.readouterr()


@pytest.mark.parametrize("name", PAGES)
def test_links_of_a_page_lead_to_files(name):
    folder = ROOT if name == "README.md" else ROOT / "docs"
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGES[name]):
        if "://" not in target:
            assert os.path.lexists(folder / target), target
