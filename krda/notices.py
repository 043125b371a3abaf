"""Warnings that name the user's own line, however deep in the library they arise."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import sklearn

# Frames of these folders are passed over: our own, and the wrappers that scikit-learn puts around
# its estimators' methods.
_PASSED_OVER = tuple(f"{Path(file).parent}{os.sep}" for file in (__file__, sklearn.__file__))


def warn_user(message: str) -> None:
    """Warn, in the name of the nearest caller outside of this library and scikit-learn.

    Parameters
    ----------
    message : str

    Warns
    -----
    UserWarning
        The message.
    """
    level = 1
    frame = sys._getframe(level)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PASSED_OVER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level + 1)


def printable(text: str, *, keep: str = "") -> str:
    r"""Escape the characters that a terminal obeys or hides, such as those of colours.

    Parameters
    ----------
    text : str
    keep : str, default=""
        Characters that are left as they are, such as ``"\n"`` in a message of several lines.

    Returns
    -------
    escaped : str
    """
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii")
        for c in text
    )
