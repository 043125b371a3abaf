from itertools import product

from experiments.seeds import derive_seed


def test_seeds_depend_on_every_name_and_on_where_one_ends_and_the_next_begins():
    assert derive_seed("moons", "40", 0) != derive_seed("moons", "40", 1)
    assert derive_seed("ab", "c") != derive_seed("a", "bc")
    assert derive_seed("moons", 4) == derive_seed("moons", "4")


def test_seeds_of_all_cells_of_a_large_benchmark_differ():
    names = list(product(["moons", "amazon"], map(str, range(50)), map(str, range(5)), range(20)))
    seeds = {derive_seed(*name) for name in names}
    assert len(seeds) == len(names)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_seed_is_the_same_in_every_process_and_year():
    # Python's own hash() would differ from process to process.
    assert derive_seed("moons", "40", "subsample", 0) == 62857540
