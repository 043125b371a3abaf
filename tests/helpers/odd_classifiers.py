"""A final classifier that misbehaves as it is told, for cells that run in worker processes."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Odd(ClassifierMixin, BaseEstimator):
    """Does in its n-th fit what the n-th entry of ``plan`` says, the last one for ever after.

    ``log`` is a file to which each fit appends a line, so that fits are counted over processes.
    A plan's entries: "ok"; "raise"; "kill"; "crash"; "exit" (``os._exit``); "quit" (``sys.exit``);
    "linger", to leave a child behind and die; "wait", until there is a file "go" beside the log; or
    seconds to sleep.
    """

    def __init__(self, log, plan=("ok",)):
        self.log = log
        self.plan = plan

    def fit(self, X, y):
        with Path(self.log).open("a") as file:
            file.write(f"{os.getpid()}\n")
        n = len(Path(self.log).read_text().splitlines())
        match self.plan[min(n, len(self.plan)) - 1]:
            case "raise":
                raise ValueError("told to fail")
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(7)
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "quit":
                sys.exit(0)
            case "linger":
                if os.fork() == 0:
                    time.sleep(30)
                    os._exit(0)
                os.kill(os.getpid(), signal.SIGKILL)
            case "wait":
                while not Path(self.log).with_name("go").exists():
                    time.sleep(0.02)
            case float(seconds) | int(seconds):
                time.sleep(seconds)
            case "ok":
                pass
            case other:
                raise AssertionError(f"no such entry of a plan: {other!r}")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        # By the first column alone: neither all right nor all wrong.
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]
