"""Programs of the repository, run as processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: For processes that import helpers of the tests, too.
WITH_HELPERS = os.pathsep.join([str(ROOT / "tests/helpers"), str(ROOT)])


def run_program(*command, **options):
    """Run a command from the root of the repository; give its status, output and errors."""
    usual = {"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
             "timeout": 600}  # fmt: skip
    return subprocess.run(list(map(str, command)), **usual | options)


def run_python(*arguments, **options):
    """Run Python from there, as :func:`run_program` does."""
    return run_program(sys.executable, *arguments, **options)
