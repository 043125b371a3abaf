"""What README and docs tell a reader to type works: Python runs, commands parse, links lead on.

Python blocks of a page are executed one after another, and print what the page says. Commands are
not executed: their options are parsed by their own parsers, their overrides composed by Hydra, and
``make`` says what it would do.
"""

import argparse
import pkgutil
import re
import runpy
import shlex
import sys
import tomllib

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from cell_factory import hydra_config
from programs import ROOT, run_program
from sklearn import config_context
from sklearn.linear_model import LogisticRegression

PAGES = {
    path.relative_to(ROOT).as_posix(): re.sub(  # continued lines joined
        r"\\\n\s*", " ", path.read_text(encoding="utf-8")
    )
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
}
run = runpy.run_path(str(ROOT / "scripts" / "draw_gallery.py"))["run"]

# Commands of other environments, or about files that the reader is to write.
OPTIONAL = ("hydra/sweeper=optuna", "hydra/launcher=ray", "my_", "make_tables.py", "elsewhere/")


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


def parse_only(parse):
    """Make a method of a parser that ends the program when it has parsed the command line."""

    def parse_and_end(self, args=None, namespace=None):
        parse(self, args, namespace)
        sys.exit()

    return parse_and_end


def compose(overrides):
    """Compose the config of a run or a sweep by Hydra, at the first value of each list."""
    single = [
        re.sub(r"=range\(.*|(=[^\[{']*?),.*", lambda m: m[1] or "=1", o)
        for o in overrides
        if "=" in o
    ]
    hydra_config(*single)


@pytest.mark.filterwarnings("ignore")  # of programs that are loaded a second time
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_one_that_its_program_understands(command, monkeypatch, capsys):
    words = shlex.split(command)
    while re.match(r"[A-Z_0-9]+=", words[0]):  # the environment
        words.pop(0)
    if words[0] == "make":
        done = run_program("make", "--dry-run", *words[1:])
        assert done.returncode == 0, done.stderr
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
    with pytest.raises(SystemExit) as end:
        run(what, run_name="__main__")
    assert not end.value.code, capsys.readouterr().err


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


def assert_same(words, others):
    """Words are equal; numbers nearly, since another processor computes others."""
    assert len(words) == len(others)
    for word, other in zip(words, others, strict=True):
        try:
            assert float(word) == pytest.approx(float(other), rel=0.1, abs=0.1)
        except ValueError:
            assert word == other


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of fits to rows as few as these
@pytest.mark.parametrize("name", [name for name, text in PAGES.items() if "```python" in text])
def test_the_python_of_a_page_runs_and_gives_what_the_page_shows(name, tmp_path, monkeypatch):
    if name == "docs/adding.md":
        pytest.skip("tests/experiments/test_adding_page.py runs it")
    monkeypatch.chdir(tmp_path)
    for directory in ("results", "reproduction"):
        (tmp_path / directory).symlink_to(ROOT / "results")
    with config_context():  # pages may change the configuration of scikit-learn
        page = run(PAGES[name], given(tmp_path, codes=name == "docs/scikit_learn.md"))
    if name.startswith(("README", "docs/gallery")):
        assert_same(PAGES[name].split(), page.split())
    if name.startswith("docs/gallery"):
        plt.close("all")
        for figure in re.findall(r"\]\(\.\./assets/([^)]+)\)", page):
            assert (tmp_path / figure).is_file()


def anchors(text):
    """What links to the headings of a page end with, on GitHub as on the site."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", PAGES)
def test_links_of_a_page_lead_to_files_and_headings(name):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", PAGES[name]):
        if "://" in target:
            continue
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path.read_text(encoding="utf-8")), (target, anchor)


def test_the_functions_of_the_equations_exist():
    names = re.findall(r"`(krda\.[\w.]+)`", PAGES["docs/method.md"])
    assert len(names) > 10
    for name in names:
        pkgutil.resolve_name(name)
