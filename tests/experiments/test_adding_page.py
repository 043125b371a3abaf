"""The example method of docs/adding.md, as a newcomer would copy it."""

import re
import textwrap
from pathlib import Path

import numpy as np
import yaml

from baselines.reference import SourceOnly

ROOT = Path(__file__).resolve().parents[2]


def block(language):
    """The first block of code of the page in a language."""
    page = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    found = re.search(rf"^ *```{language}\n(.*?)^ *```$", page, re.DOTALL | re.MULTILINE)
    return textwrap.dedent(found.group(1))


def test_it_adapts_with_the_settings_of_its_config():
    space = {}
    exec(compile(block("python"), "my_method.py", "exec"), space)
    settings = yaml.safe_load(block("yaml"))
    assert settings.pop("_target_") == f"baselines.my_method.{space['MyMethod'].__name__}"
    for key in ("name", "label", "meaning", "family", "quick", "classifier"):
        del settings[key]
    rng = np.random.default_rng(0)
    ys = np.arange(60) % 2
    Xs = rng.normal(size=(60, 2)) + 4 * ys[:, None]
    Xt = Xs + 10
    adapted = space["MyMethod"](**settings).fit(Xs, ys, Xt)
    assert (adapted.predict(Xt) == ys).all()
    assert (SourceOnly().fit(Xs, ys, Xt).predict(Xt) == ys).mean() < 0.6
