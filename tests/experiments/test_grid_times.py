from record_factory import make_record

from experiments.analysis.grid_times import seconds_by_method, time_table

# Each repetition that is done took 0.1 s to fit and as long to predict.
RECORDS = [
    make_record("moons", "10", "krda", *[0.9] * 5),
    make_record("moons", "20", "krda", *[0.9] * 5),
    make_record("amazon", "B-D", "krda", *[0.9] * 5),
    make_record("moons", "10", "ot", 0.8, "failed: made up"),
]


def test_seconds_are_those_of_the_repetitions_that_are_done():
    rounded = {key: round(value, 9) for key, value in seconds_by_method(RECORDS).items()}
    assert rounded == {("krda", "moons"): 2.0, ("krda", "amazon"): 1.0, ("ot", "moons"): 0.2}


def test_the_longest_method_comes_first_and_sums_are_shown():
    assert time_table(RECORDS).splitlines() == [
        "| Seconds on one core | amazon | moons | all |",
        "| :-- | --: | --: | --: |",
        "| KRDA | 1.0 | 2.0 | 3.0 |",
        "| OT | – | 0.2 | 0.2 |",
        "| **all** | 1.0 | 2.2 | 3.2 |",
    ]
