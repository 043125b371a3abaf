"""Where numbers come from is told as it is, in a checkout, within another one, and outside."""

import subprocess

import pytest

from experiments.store import provenance


def git(directory, *arguments):
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(directory), *name, *arguments], check=True)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository of another project with one commit, of which this one is taken to be the root.

    Git looks for no repository above it.
    """
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "--quiet")
    (root / "code.py").write_text("x = 1\n")
    git(root, "add", "code.py")
    git(root, "commit", "--quiet", "--message", "first")
    monkeypatch.setattr(provenance, "_ROOT", root)
    return root


def test_a_checkout_has_its_revision_and_says_whether_it_is_as_committed(checkout):
    found = provenance._revision()
    assert len(found["git_revision"]) == 40
    assert found["git_clean"] is True
    (checkout / "code.py").write_text("x = 2\n")
    assert provenance._revision() == found | {"git_clean": False}


@pytest.mark.parametrize("folder", ["root/vendored", "."])
def test_a_folder_that_is_no_checkout_itself_has_no_revision(checkout, folder, monkeypatch):
    place = checkout.parent / folder
    place.mkdir(exist_ok=True)
    monkeypatch.setattr(provenance, "_ROOT", place)
    assert provenance._revision() == {"git_revision": None, "git_clean": None}
