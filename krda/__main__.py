"""Adapt a classifier to a table without labels: the command ``krda``.

Exit status: 0; 1 if the files or the fit make it impossible; 2 for a wrong command line; 3 if all
was done but a part of the printed output was lost; 4 if all was done and the verdict is not to use
the predictions; 130 if it was interrupted. No numerical library is loaded before the arguments
are read.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from krda._version import __version__
from krda.command.console import Console

CLASSIFIERS = ("svm", "logistic", "forest", "boosting")
METHODS = (
    "auto", "plain", "reweighted", "standardize", "quantiles", "linear", "affine", "krda",
)  # fmt: skip

_COMMANDS = {
    "adapt": "Choose an adaptation, predict the target's labels, and say whether to use them.",
    "check": "Say whether there is a shift, of which kind, and what would help; write nothing.",
    "compare": "Predict by all methods; say where they disagree, and, with labels, who is right.",
    "predict": "Predict rows of a new file by what 'krda adapt --save' wrote.",
}


class _Parser(argparse.ArgumentParser):
    words: Sequence[str] = ()  # of the command line
    known: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        for word in self.words:
            near = difflib.get_close_matches(word, self.known, n=1)
            if near and word not in self.known and (word.startswith("--") or "choice" in message):
                message += f". Did you mean {near[0]}?"
                break
        if "required" in message and "COMMAND" not in message:
            message += " (--drop and --categories take all names that follow: put files first)"
        super().error(message)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    _Parser.words = sys.argv[1:] if arguments is None else arguments
    parser = _Parser(
        prog="krda",
        description="Adapt a classifier of a labelled table to a table without labels. No label "
        "of the target is read. The page docs/own_tables.md of the repository has an example.",
    )
    parser.add_argument("--version", action="version", version=f"krda {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, help_ in _COMMANDS.items():
        sub = commands.add_parser(name, help=help_, description=help_)
        _of_files(sub, name)
        if name == "predict":
            _of_output(sub)
            continue
        _of_tables(sub)
        if name == "adapt":
            sub.add_argument("--method", choices=METHODS, default="auto",
                             help="how to adapt (default: choose)")  # fmt: skip
            sub.add_argument("--save", type=Path, metavar="MODEL", help="for 'krda predict'")
            sub.add_argument("--report", type=Path, metavar="HTML", help="one page with all of it")
            _of_output(sub)
        if name in ("adapt", "compare"):
            sub.add_argument("--target-labels", type=Path, metavar="FILE",
                             help="a few more target rows, with labels: they choose the method, or "
                             "show which is right")  # fmt: skip
    actions = [action for sub in commands.choices.values() for action in sub._actions]
    _Parser.known = [*_COMMANDS, *(name for action in actions for name in action.option_strings)]
    options = parser.parse_args(arguments)
    if getattr(options, "seed", 0) < 0:
        parser.error(f"--seed must not be negative, got {options.seed}")
    if getattr(options, "method", "auto") != "auto" and options.target_labels:
        parser.error("--target-labels choose the method: leave out --method")
    if options.separator is not None:
        options.separator = options.separator.replace("\\t", "\t")
    return options


def _of_files(parser: argparse.ArgumentParser, command: str) -> None:
    add = parser.add_argument
    if command == "predict":
        add("model", type=Path, help="a file that 'krda adapt --save' wrote")
        add("new", type=Path, help="a file with the columns of the target")
    else:
        add("source", type=Path, help="a file with features and labels")
        add("target", type=Path, help="a file with the same features")
    add("--separator", metavar="CHAR", help="between columns of text files, \\t for a tabulator "
        "(default: found)")  # fmt: skip
    add("--decimal", choices=(".", ","), help="decimal mark of text files (default: found)")
    add("--encoding", help="of text files (default: found)")
    add("--id", metavar="COLUMN", help="a column that names the rows: no feature, and written "
        "beside predictions")  # fmt: skip
    add("--quiet", action="store_true", help="print the result and errors alone")
    add("--json", action="store_true", help="print the result as JSON")


def _of_tables(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--label", required=True, metavar="COLUMN", help="the source's column of labels")
    add("--drop", nargs="+", action="extend", default=[], metavar="COLUMN",
        help="columns that are no features")  # fmt: skip
    add("--categories", nargs="+", action="extend", default=[], metavar="COLUMN",
        help="columns of numbers that are categories")  # fmt: skip
    add("--classifier", choices=CLASSIFIERS, default="svm",
        help="default: %(default)s; boosting for more than ten thousand rows")  # fmt: skip
    add("--seed", type=int, default=0, help="of all randomness (default: %(default)s)")


def _of_output(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--output", type=Path, default=Path("predictions.csv"), metavar="CSV",
        help="where predictions go (default: %(default)s)")  # fmt: skip
    add("--force", action="store_true", help="overwrite files that exist")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, or those of the process; give the exit status."""
    options = _parse(arguments)
    console = Console(quiet=options.quiet, json=options.json)
    try:
        from krda.command.run import COMMANDS

        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: console.note(str(message))
            status = COMMANDS[options.command](options, console)
    except KeyboardInterrupt:
        console.complain("interrupted")
        return 130
    except ModuleNotFoundError as error:
        console.complain(
            f"{error.name} is missing. Install krda with its extra 'cli': see README.md."
        )
        return 1
    except OSError as error:
        console.complain(f"{error.filename or 'a file'}: {error.strerror or error}.")
        return 1
    except (ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        console.complain(str(error) or type(error).__name__)
        return 1
    return 3 if console.lost else status


if __name__ == "__main__":
    sys.exit(main())
