"""Studies behind pages of the documentation, one module each: ``python -m studies.draws``.

Each runs with one thread and pinned kernels, as the benchmark does.
"""

from experiments.threads import limit_threads

limit_threads()  # before any module of the package loads a numerical library
