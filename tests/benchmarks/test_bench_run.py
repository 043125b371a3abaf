import pytest

from benchmarks import run, tables
from benchmarks.quantile import KINDS, mixtures
from benchmarks.sections import SECTIONS
from benchmarks.sizes import SIZES


@pytest.mark.slow
def test_one_command_measures_every_section_and_writes_its_page(tmp_path, capsys):
    run.main(["--sizes", "tiny", "--output", str(tmp_path)])
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    for section in SECTIONS:
        rows = tables.read(tmp_path / f"{section.name}.csv")
        expected = [case for group in section.groups(SIZES["tiny"], tmp_path) for case in group]
        assert [row["case"] for row in rows] == [case.name for case in expected]
        assert f"## {section.title}" in page
        for row in rows:
            if row["case"].startswith(("zuko", "nflows", "MParT")) or row["threads"] > 1:
                assert row["status"] == "done" or row["status"].startswith("not run: ")
            else:
                assert row["status"] == "done"
                assert 0 < row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
    for row in tables.read(tmp_path / "transport.csv"):
        if row["case"] in ("KR transport", "KR transport, bisection"):
            assert row["residual"] < 1e-10
    for row in tables.read(tmp_path / "quantile.csv"):
        assert row["max_error_in_spacings"] < 100
    assert (tmp_path / "transport.pdf").is_file()
    # Rendering again, from the files alone, changes nothing.
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    run.main(["--sizes", "tiny", "--output", str(tmp_path), "--render"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    capsys.readouterr()


def test_names_of_cases_differ_within_a_group(tmp_path):
    for sizes in SIZES.values():
        for section in SECTIONS:
            for group in section.groups(sizes, tmp_path):
                names = [case.name for case in group]
                assert len(set(names)) == len(names)
                assert all(c.compared_to in (None, *names) for c in group)


@pytest.mark.parametrize("kind", KINDS)
def test_mixtures_are_what_their_kind_says(kind):
    u, weights, _, stds = mixtures(kind, 1_000)
    assert bool(((u > 0) & (u < 1)).all())
    assert weights.sum(1).tolist() == pytest.approx([1.0] * 1_000)
    assert bool((stds > 0).all())
    tail = float(((u < 1e-3) | (u > 1 - 1e-3)).double().mean())
    assert (tail == 1) if kind == "far tail" else (tail < 0.05)
    assert (float(stds.min()) < 1e-5) == (kind == "nearly degenerate")
