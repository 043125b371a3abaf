import pandas as pd
import pytest

from speed.__main__ import main
from speed.cases import SECTIONS, SIZES


@pytest.mark.slow
def test_one_command_measures_every_section_and_writes_its_page(tmp_path, capsys):
    main(["--sizes", "tiny", "--output", str(tmp_path)])
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    for name, section in SECTIONS.items():
        rows = pd.read_csv(tmp_path / f"{name}.csv").to_dict("records")
        expected = [case for group in section(SIZES["tiny"]) for case in group]
        assert [row["case"] for row in rows] == [case.name for case in expected]
        assert f"## {name.capitalize()}" in page
        for row in rows:
            if not row["status"].startswith(("not run: not installed", "not run: 2 threads")):
                assert row["status"] == "done", row
                assert 0 < row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
    transport = pd.read_csv(tmp_path / "transport.csv")
    assert (transport[transport["case"].str.startswith("KR")]["residual"].dropna() < 1e-10).all()
    # Rendering again, from the files alone, changes nothing.
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    main(["--sizes", "tiny", "--output", str(tmp_path), "--render"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    capsys.readouterr()


def test_names_of_cases_differ_within_a_group():
    for sizes in SIZES.values():
        for section in SECTIONS.values():
            for group in section(sizes):
                names = [case.name for case in group]
                assert len(set(names)) == len(names)
                assert all(case.compared_to in (None, *names) for case in group)
