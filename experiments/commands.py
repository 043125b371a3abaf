"""What the commands share: options, directories, and words on a record and how to run a cell."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from omegaconf import DictConfig, OmegaConf

from experiments.catalogue import check_name, config_names
from experiments.cells.cell import Cell
from experiments.store.records import Record

DEFAULT_RESULTS = Path("reproduction")
"""Where what a person runs goes; git ignores it, and configs/benchmark.yaml has it, too."""
COMMITTED_RESULTS = Path("results")
_ROOT = Path(__file__).resolve().parent.parent


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong, without the usage: ``make`` passes options on that nobody typed."""
        self.exit(2, f"error: {message}\n{self.prog} --help lists the options.\n")


def command_parser(name: str, about: str | None, results: str) -> argparse.ArgumentParser:
    """Make a parser with ``--protocol`` and ``--results``, whose use ``results`` describes."""
    parser = _Parser(
        f"python -m experiments.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--protocol",
        default="paper",
        choices=config_names("protocol"),
        help="default: paper, or the data set's own if its config chooses one, as that of tables",
    )
    parser.add_argument(
        "--results",
        type=_results_path,
        default=DEFAULT_RESULTS,
        help=f"{results}; the committed ones are in {COMMITTED_RESULTS} (default: %(default)s)",
    )
    return parser


def _results_path(text: str) -> Path:
    try:
        return check_results("--results", text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def check_results(name: str, given: object) -> Path:
    """Read the name of a directory of results.

    ValueError, with ``name`` in the message: nothing, or the repository's root.
    """
    text = "" if given is None else str(given)
    if not text.strip() or Path(text).resolve() == _ROOT:
        raise ValueError(
            f"{name} must name a directory for results, such as {DEFAULT_RESULTS}, and not the "
            f"repository's root, got {text!r}."
        )
    return Path(text)


def check_complete(config: DictConfig) -> None:
    """ValueError if a setting that has no default, such as a file of dataset=csv, has no value."""
    if missing := sorted(OmegaConf.missing_keys(config)):
        raise ValueError(f"These have no value yet, set them: {', '.join(missing)}")


def nothing_there(results: Path) -> str | None:
    """Say that a directory has no records, and how to read the committed ones; None if it has."""
    if (results / "records").is_dir():
        return None
    return (
        f"There are no records in {results}. Read the committed ones: --results {COMMITTED_RESULTS}"
    )


def split_names(given: Sequence[str] | None, group: str) -> list[str] | None:
    """Read names between spaces or commas, each once; ValueError for one that is not known."""
    if given is None:
        return None
    names = list(dict.fromkeys(re.findall(r"[^\s,]+", " ".join(given))))
    for name in names or [""]:
        check_name(group, name)
    return names


def describe(record: Record) -> str:
    """Say in a line what a record holds: the mean, its interval and the single accuracies."""
    from experiments.analysis.intervals import mean_and_interval

    name = f"{record.dataset}/{record.task} {record.method}"
    done = [100 * accuracy for accuracy in record.accuracies]
    if not done:
        return f"{name}: no repetition done of {len(record.outcomes)}"
    interval = mean_and_interval(done)
    width = "" if len(done) == 1 else f" ± {interval.half_width:.1f}"
    single = " ".join(f"{accuracy:.1f}" for accuracy in done)
    return f"{name}: {interval.mean:.1f}{width} % ({single})"


def rerun_command(cell: Cell, results: Path, protocol: str, overrides: Sequence[str] = ()) -> str:
    """Shell command that runs just one cell, with ``records`` in ``results``."""
    command = [
        "python", "-m", "experiments.run", f"dataset={cell.dataset}",
        f"dataset.task={hydra_value(cell.task)}", f"method={cell.method}", *cell.overrides,
        f"runtime.results={hydra_value(str(results))}",
    ]  # fmt: skip
    if protocol != "paper":
        command.append(f"protocol={protocol}")
    return shlex.join([*command, *overrides])


def hydra_value(text: str) -> str:
    """Write a text as a value in Hydra's grammar, in quotes unless it is a plain word."""
    # Numbers that would not come back as their own text, such as 1e5, do not count as plain.
    if re.fullmatch(r"[A-Za-z/.][A-Za-z0-9/._-]*|0|[1-9][0-9]*", text, re.ASCII) and (
        text.lower() not in ("true", "false", "null", "nan", "inf")
    ):
        return text
    # Backslashes count if quotes, interpolations or the end follow.
    text = re.sub(r"(\\*)\$\{", lambda found: f"{found[1]}{found[1]}\\${{", text)
    text = re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text)
    return f"'{text}'"
