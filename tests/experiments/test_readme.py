import pytest

from experiments.readme import BEGIN, END, summary, with_summary

HEAD = "dataset,task,method,in_paper,mean,ci95,n_done,n_repetitions,published_mean\n"


def test_a_mean_stands_only_where_every_cell_is_complete(tmp_path):
    (tmp_path / "moons.csv").write_text(
        HEAD
        + "moons,10,krda,true,90.0,1,5,5,80\nmoons,20,krda,true,80.0,1,5,5,81\n"
        + "moons,10,ot,true,90.0,1,5,5,80\nmoons,20,ot,true,80.0,1,4,5,81\n"
        + "moons,10,standardize,false,70.0,1,5,5,\nmoons,20,standardize,false,71.0,1,5,5,\n"
    )
    rows = summary(tmp_path).splitlines()
    assert rows[0] == "| Mean accuracy, % | moons, 9 angles: ours | paper |"
    assert rows[2:] == [
        "| KRDA | 85.0 | 80.5 |",
        "| OT | – | 80.5 |",
        "| Each domain standardised | 70.5 | – |",
    ]


def test_the_summary_replaces_what_stood_between_the_marks():
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert with_summary(text, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    with pytest.raises(ValueError, match="once each"):
        with_summary("no marks", "new")
