"""What `pip install` gets: the library and its command; and what the source distribution holds."""

import importlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

from krda.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "baselines", "configs", "docs", "examples", "experiments", "krda", "scripts", "speed",
    "studies", "tests",
)  # fmt: skip
FILES = (
    "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile",
    "README.md", "constraints.txt", "mkdocs.yml", "pyproject.toml",
)  # fmt: skip

BUILD = """
from setuptools.build_meta import build_sdist, build_wheel
build_sdist("dist")
build_wheel("dist")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the repository, with the two distributions made from it in its ``dist``."""
    pytest.importorskip("setuptools", "77")
    root = tmp_path_factory.mktemp("built") / "copy"
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name, root / name, ignore=shutil.ignore_patterns(".*", "__pycache__")
        )
    for name in FILES:
        shutil.copy(ROOT / name, root / name)
    (root / "dist").mkdir()
    # In place of the results, which are large.
    (root / "results").mkdir()
    (root / "results" / "any.csv").write_text("x\n")
    subprocess.run([sys.executable, "-c", BUILD], cwd=root, capture_output=True, check=True)
    return root


def wheel(built):
    (path,) = (built / "dist").glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_source_distribution_holds_the_whole_repository(built):
    (path,) = (built / "dist").glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    paths = [path for name in (*FOLDERS, "results") for path in (built / name).rglob("*")]
    wanted = {str(path.relative_to(built)) for path in paths if path.is_file()} | set(FILES)
    assert wanted - names == set()


def test_the_wheel_holds_the_library_alone_and_the_licence(built):
    with wheel(built) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"krda"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    files = [path for path in (ROOT / "krda").rglob("*") if path.is_file()]
    own = {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    expected = {name for name in own if ".nb" not in name}
    assert {name for name in names if name.startswith("krda/")} == expected


def test_the_command_of_the_wheel_is_that_of_the_module(built):
    with wheel(built) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("entry_points.txt")]
        parser = ConfigParser()
        parser.read_string(archive.read(name).decode())
    module, _, function = parser["console_scripts"]["krda"].partition(":")
    assert getattr(importlib.import_module(module), function) is main
