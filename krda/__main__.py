"""From two CSV files to predictions for the second, and whether to trust them: ``python -m krda``.

Exit status: 0; 1 if the files or the fit make it impossible; 2 for a wrong command line; 3 if all
was done but a part of the printed output was lost; 130 if it was interrupted. Predictions that were
written are kept in every case. No numerical library is loaded before the arguments are read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from krda.command.console import Console

CLASSIFIERS = ("svm", "logistic", "forest", "boosting")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if "required" in message:
            message += " (--drop takes all names that follow it: put the files first)"
        super().error(message)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m krda",
        description="Predict labels for a target table from a labelled source table with KRDA, "
        "and say whether to trust them. No label of the target is read. See docs/own_tables.md.",
    )
    add = parser.add_argument
    add("source", type=Path, help="CSV file with features and labels")
    add("target", type=Path, help="CSV file with the same features")
    add("--label", required=True, metavar="COLUMN", help="the source's column of labels")
    add("--output", type=Path, default="predictions.csv", metavar="CSV",
        help="where predictions go (default: %(default)s)")  # fmt: skip
    add("--force", action="store_true", help="overwrite the output if it exists")
    add("--drop", nargs="+", action="extend", default=[], metavar="COLUMN",
        help="columns that are no features; after the files, or once for each")  # fmt: skip
    add("--id", metavar="COLUMN",
        help="a column that names the target's rows: no feature, and written beside the "
        "predictions")  # fmt: skip
    add("--separator", default=",", metavar="CHAR",
        help="between columns, \\t for a tabulator (default: a comma)")  # fmt: skip
    add("--encoding", default="utf-8-sig", help="of both files (default: UTF-8)")
    add("--classifier", choices=CLASSIFIERS, default="svm",
        help="trained on the transported source (default: %(default)s; all but svm give "
        "probabilities)")  # fmt: skip
    add("--column-order", choices=("given", "reversed", "random"), default="given",
        help="in which the columns are transported (default: %(default)s)")  # fmt: skip
    add("--hidden-size", type=int, default=50, help="of the density (default: %(default)s)")
    add("--max-steps", type=int, default=1000, help="of its training (default: %(default)s)")
    add("--seed", type=int, default=0, help="of all randomness (default: %(default)s)")
    add("--assess", action=argparse.BooleanOptionalAction, default=True,
        help="check the fit, up to some twenty times its work (default: yes)")  # fmt: skip
    add("--refits", type=int, default=3, metavar="N",
        help="of the check, with other seeds, as many with other column orders, and as many "
        "splits of the tables with five fits each (default: %(default)s)")  # fmt: skip
    options = parser.parse_args(arguments)
    options.separator = options.separator.replace("\\t", "\t")
    if len(options.separator) != 1 or options.separator in '"\r\n\0':
        parser.error(f"--separator must be one character, got {options.separator!r}")
    if options.refits < 0:
        parser.error(f"--refits must not be negative, got {options.refits}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, or those of the process; give the exit status."""
    options, console = _parse(arguments), Console()
    try:
        from krda.command.run import run

        run(options, console)
    except KeyboardInterrupt:
        console.complain("interrupted")
        return 130
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        console.complain('Reading CSV files needs pandas: pip install "krda[cli]".')
        return 1
    except (ValueError, ArithmeticError, MemoryError, RuntimeError, OSError) as error:
        console.complain(str(error) or type(error).__name__)
        return 1
    return 3 if console.lost else 0


if __name__ == "__main__":
    sys.exit(main())
