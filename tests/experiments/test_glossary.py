from experiments.cells.configuration import config_names
from experiments.cells.plan import METHOD_LABELS, load_table
from experiments.published import METHODS
from experiments.reading.glossary import METHOD_MEANINGS, glossary, methods_glossary, task_naming


def test_every_abbreviation_of_the_papers_methods_is_expanded():
    assert set(METHODS.values()) <= set(METHOD_MEANINGS) <= set(METHOD_LABELS)
    told = methods_glossary(["tca", "dann"])
    assert told.startswith(
        "Methods: TCA: transfer component analysis (Pan et al., 2011); "
        "DANN: domain-adversarial neural network (Ganin et al., 2016). "
    )


def test_the_tasks_of_every_data_set_of_a_table_are_explained():
    for name in config_names("table"):
        plan = load_table(name)
        naming = task_naming(plan.dataset)
        example = naming.partition(" is ")[0]
        assert example in {plan.task_label.format(task) for task in plan.tasks}
        assert glossary(plan.dataset, plan.methods).endswith(f" Tasks: {naming}")


def test_what_has_no_meaning_to_be_told_is_left_out():
    assert methods_glossary(["my_method"]) == ""
    assert task_naming("my_data") == ""
    assert glossary("my_data", ["my_method"]) == ""
