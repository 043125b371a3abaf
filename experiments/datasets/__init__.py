"""The data sets of the benchmark, one module each."""
