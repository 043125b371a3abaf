import io
import os
import signal
import sys
import threading
import time

import pytest

from experiments.console import OutputLost, _Stream
from experiments.running.isolation import LostCellError, isolated


def test_what_a_function_returns_or_raises_comes_back_from_the_child():
    assert isolated(lambda: {"pid": 1, "own": os.getpid()})["own"] != os.getpid()

    def fail():
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        isolated(fail)
    assert "in fail" in caught.value.__notes__[0]
    with pytest.raises(SystemExit):
        isolated(sys.exit)


def test_an_error_that_cannot_be_sent_back_is_told_in_words():
    class Local(Exception):
        pass

    def fail():
        raise Local("odd \udce9")

    with pytest.raises(LostCellError, match=r"Local: odd \\udce9"):
        isolated(fail)


@pytest.mark.parametrize(
    ("deed", "message"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was ended by SIGKILL"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "was ended by SIGSEGV"),
        (lambda: os._exit(3), "ended with exit code 3"),
        (lambda: os._exit(0), "ended with exit code 0"),
    ],
)
def test_the_loss_of_its_process_is_told(deed, message):
    with pytest.raises(LostCellError, match=message):
        isolated(deed)


def test_a_thread_or_a_child_that_lives_on_does_not_hold_it_up():
    def leave():
        threading.Thread(target=time.sleep, args=(600,)).start()
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        return "done"

    assert isolated(leave) == "done"


def test_a_time_limit_ends_it():
    with pytest.raises(LostCellError, match=r"the time limit of 0\.01 s was exceeded"):
        isolated(lambda: time.sleep(3600), timeout_seconds=0.01)


def test_a_warning_that_nobody_reads_fails_no_function_in_the_child(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    stream = _Stream(Closed())
    with pytest.raises(OutputLost):
        stream.write("x")
    monkeypatch.setattr(sys, "stderr", stream)

    def warn():
        try:  # as the module warnings does
            sys.stderr.write("nobody reads this")
        except OSError:
            return "done"

    assert isolated(warn) == "done"
