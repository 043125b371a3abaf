"""Where results are: what a person runs goes to one directory, what is committed to another.

Whatever a person types writes to, and reads from, :data:`DEFAULT_RESULTS`, which git ignores. The
committed results are named wherever they are meant: ``--results results``, ``RESULTS=results``.
``configs/benchmark.yaml`` has the same default.
"""

from __future__ import annotations

from pathlib import Path

DEFAULT_RESULTS = Path("reproduction")
COMMITTED_RESULTS = Path("results")

_ROOT = Path(__file__).resolve().parent.parent


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


def nothing_there(results: Path) -> str | None:
    """Say that nothing was run into the default directory yet, and how to read the committed one.

    None if there are records, or another directory than the default was asked for.
    """
    if results != DEFAULT_RESULTS or (results / "records").is_dir():
        return None
    return (
        f"There are no records in {results}. Read the committed ones: --results {COMMITTED_RESULTS}"
    )
