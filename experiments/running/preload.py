"""What every fit needs; imported once by the process that workers are forked from."""

# ruff: noqa: E402, F401
from experiments.threads import limit_threads

limit_threads()

import hydra.utils
import sklearn.svm

import experiments.cells.protocol
import experiments.store.provenance
