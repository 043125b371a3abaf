"""From two CSV files to predictions for the second, and whether to trust them: ``python -m krda``.

Exit status: 0; 1 if the files or the fit make it impossible; 2 for a wrong command line; 3 if all
was done but standard output took only a part of what was printed; 130 if it was interrupted.
Predictions that were written are kept in every case.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from krda import KRDA
from krda.notices import printable
from krda.tables import (
    UTF8,
    TableError,
    Tables,
    check_output,
    import_pandas,
    listed,
    read_tables,
    write_predictions,
)
from krda.trust import assess

CLASSIFIERS = ("svm", "logistic", "forest", "boosting")


def make_classifier(name: str, seed: int) -> Any:
    """Make one of the command's classifiers; those that mind get their columns at one scale.

    Parameters
    ----------
    name : str
        One of ``CLASSIFIERS``.
    seed : int

    Returns
    -------
    classifier : estimator
    """
    match name:
        case "svm":
            return make_pipeline(StandardScaler(), SVC(random_state=seed))
        case "logistic":
            return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        case "forest":
            return RandomForestClassifier(random_state=seed)
        case "boosting":
            return HistGradientBoostingClassifier(random_state=seed)
    raise ValueError(f"classifier must be one of {', '.join(CLASSIFIERS)}, got {name!r}.")


class _Console:
    """Standard output and errors, which may end early: a pipe that is closed, a disk that is full.

    Attributes
    ----------
    lost : bool
        Whether standard output ended. The work goes on: its result is the file.
    """

    def __init__(self) -> None:
        self.lost = False
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    def say(self, text: str = "", end: str = "\n") -> None:
        """Print on standard output, unless it ended."""
        if self.lost:
            return
        try:
            print(printable(text, keep="\n"), end=end, flush=True)
        except OSError as error:
            self.lost = True
            _discard(sys.stdout)
            if not isinstance(error, BrokenPipeError):
                self.complain(f"standard output cannot be written: {error.strerror}")

    def complain(self, text: str) -> None:
        """Print an error."""
        try:
            print(f"error: {printable(text, keep=chr(10))}", file=sys.stderr, flush=True)
        except OSError:
            _discard(sys.stderr)


def _discard(stream: Any) -> None:
    """Let a stream that cannot be written end in nothing, or the interpreter fails at its end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Parser(argparse.ArgumentParser):
    """A parser that says what ``--drop`` did before the files: it takes all names that follow."""

    def error(self, message: str) -> NoReturn:
        if "required" in message and "source" in message:
            message += " (--drop takes all names that follow it: put the files first)"
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m krda",
        description="Predict labels for a target table from a labelled source table with KRDA, "
        "and say whether to trust them. No label of the target is read. See docs/own_tables.md.",
    )
    add = parser.add_argument
    add("source", type=Path, help="CSV file with features and labels")
    add("target", type=Path, help="CSV file with the same features")
    add("--label", required=True, metavar="COLUMN", help="the source's column of labels")
    add("--output", type=Path, default=Path("predictions.csv"), metavar="CSV",
        help="where predictions go (default: %(default)s)")  # fmt: skip
    add("--force", action="store_true", help="overwrite the output if it exists")
    add("--drop", nargs="+", action="extend", default=[], metavar="COLUMN",
        help="columns that are no features; after the files, or once for each")  # fmt: skip
    add("--id", metavar="COLUMN", help="a column that names the target's rows: no feature, and "
        "written along with the predictions")  # fmt: skip
    add("--separator", default=",", metavar="CHAR",
        help="between columns, \\t for a tabulator (default: a comma)")  # fmt: skip
    add("--encoding", default=UTF8, help="of both files (default: UTF-8)")
    add("--classifier", choices=CLASSIFIERS, default="svm",
        help="trained on the transported source (default: %(default)s; all but svm give "
        "probabilities)")  # fmt: skip
    add("--column-order", choices=("given", "reversed", "random"), default="given",
        help="in which the columns are transported (default: %(default)s)")  # fmt: skip
    add("--hidden-size", type=int, default=50, help="of the density (default: %(default)s)")
    add("--max-steps", type=int, default=1000, help="of its training (default: %(default)s)")
    add("--seed", type=int, default=0, help="of all randomness (default: %(default)s)")
    add("--assess", action=argparse.BooleanOptionalAction, default=True,
        help="whether to check the fit, which takes up to some twenty times as long (default: yes)",
        )  # fmt: skip
    add("--refits", type=int, default=3, metavar="N",
        help="of the check, with other seeds, as many with other column orders, and as many "
        "splits of the tables with five fits each (default: %(default)s)")  # fmt: skip
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str or None
        None takes those of the process.

    Returns
    -------
    status : int
    """
    console = _Console()
    try:
        options = _parse(arguments)
    except SystemExit as end:  # after a help or an error, which may not have been written yet
        console.say(end="")
        raise SystemExit(end.code or 3 * console.lost) from None
    try:
        _run(options, console)
    except (ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        console.complain(_explain(error, options))
        return 1
    except KeyboardInterrupt:
        console.complain("interrupted")
        return 130
    return 3 if console.lost else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    options.separator = options.separator.replace("\\t", "\t")
    if len(options.separator) != 1 or options.separator in '"\r\n\0':
        parser.error(f"--separator must be one character, got {options.separator!r}")
    if options.refits < 0:
        parser.error(f"--refits must not be negative, got {options.refits}")
    try:
        "".encode(options.encoding)
    except (LookupError, ValueError):
        parser.error(f"--encoding must name an encoding of text, got {options.encoding!r}")
    return options


def _explain(error: BaseException, options: argparse.Namespace) -> str:
    """Say what an error is about, in the words of the command line."""
    message = str(error) or type(error).__name__
    if not re.search(r"\b(Xs|ys|Xt)\b", message) or isinstance(error, TableError):
        return message
    return (
        f"{message} (Xs is {options.source}, ys its column {options.label!r}, Xt is "
        f"{options.target}.)"
    )


def _run(options: argparse.Namespace, console: _Console) -> None:
    import_pandas()
    check_output(options.output, (options.source, options.target), force=options.force)
    tables = read_tables(
        options.source,
        options.target,
        options.label,
        drop=options.drop,
        identifier=options.id,
        separator=options.separator,
        encoding=options.encoding,
    )
    for note in tables.notes:
        console.say(f"note: {note}")
    console.say(
        f"{len(tables.Xs)} source rows, {len(tables.Xt)} target rows, "
        f"{len(tables.Xs.columns)} columns; fitting"
    )
    model = KRDA(
        hidden_size=options.hidden_size,
        max_steps=options.max_steps,
        column_order=options.column_order,
        classifier=make_classifier(options.classifier, options.seed),
        random_state=options.seed,
    )
    write = _predict(model, tables, options, console)
    if options.assess:
        console.say("checking the fit\n")
        try:
            found = assess(
                model,
                tables.Xs,
                tables.ys,
                tables.Xt,
                n_refits=options.refits,
                random_state=options.seed,
            )
        except BaseException:
            console.say(f"the check did not end; {options.output} holds the predictions alone")
            raise
        console.say(str(found))
        more: dict[str, Any] = {
            "source_only": found.source_only,
            "standardised": found.standardized,
        }
        if options.refits:
            more = {"refits_agree": found.refits_agree.round(4)} | more
        write(more=more, force=True)
        console.say(f"\n{options.output} has these columns now, too: {', '.join(more)}")


def _predict(
    model: KRDA, tables: Tables, options: argparse.Namespace, console: _Console
) -> Callable[..., None]:
    """Fit, write the predictions, and say what they are; give what writes them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(tables.Xs, tables.ys, tables.Xt)
        predicted = model.predict(tables.Xt)
        probabilities = None
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(tables.Xt)
    write = partial(
        write_predictions,
        options.output,
        predicted,
        probabilities,
        model.classifier_.classes_,
        identifiers=tables.identifiers,
    )
    write(force=options.force)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        console.say(f"warning: {message}")
    shares = [f"{listed([label])} {np.mean(predicted == label):.1%}" for label in model.classes_]
    console.say(f"predictions: {options.output} ({listed(shares)})")
    return write


if __name__ == "__main__":
    sys.exit(main())
