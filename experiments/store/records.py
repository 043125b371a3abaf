"""The store of results: one small JSON file a cell, whole or not there at all.

A *cell* is one data set, one task, one method under one resolved config; its :class:`Record` holds
the outcome of every repetition and where the numbers came from. :class:`RecordStore` keeps each
record in a file of its own, ``ROOT/DATASET/TASK/METHOD-<12 hex of config_sha256>.json``:

- Writing goes through a temporary file in the same directory, flushed to disk and then renamed, so
  that a reader, a second writer or a kill at any moment sees the old record or the new one.
- Reading believes nothing: every field, the checksum, the canonical form of the text and the
  agreement of content and path are checked. What fails is a :class:`RecordError` with a reason.
- A record may be of a cell under way: repetitions that are still to run are there as 'pending', so
  that a kill costs the repetition at work and none before it.

The checksum guards against accidents (a flipped bit, an edit by hand). It is no signature: whoever
wants to forge a record can compute it anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from experiments.whole_files import TEMPORARY, remove_old, written_whole

SCHEMA = 1
"""Version of the record's layout; a reader refuses every other."""

Status = Literal["done", "failed", "diverged", "timeout", "pending"]
STATUSES: tuple[str, ...] = get_args(Status)

ERROR_LENGTH = 2000
"""Most characters of an error that a record keeps."""

# Keys of an outcome that are left out where they are None.
_OPTIONAL = frozenset({"environment"})

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]+", re.ASCII)
_PREFIX = 12  # hex digits of config_sha256 in a file's name
_SUFFIX = ".json"
CLAIM = ".claim"
"""Ends the name of the file by which a process claims a cell; see running.cell_claims."""


def one_line(text: str, length: int = ERROR_LENGTH) -> str:
    r"""Make a text one line that any file, table and terminal can show.

    Blanks and line ends become single blanks; other control characters, lone surrogates and what
    else cannot be printed become escapes, such as ``\x1b``.

    Parameters
    ----------
    text : str
    length : int
        The rest of a longer text is left out, and the line says how much that is.

    Returns
    -------
    line : str
    """
    line = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in " ".join(text.split())
    )
    if len(line) <= length:
        return line
    kept = line[: length - 40].rstrip()
    return f"{kept} ... [{len(line) - len(kept)} more characters]"


class RecordError(Exception):
    """A file that is no valid record.

    Attributes
    ----------
    path : Path
        The file.
    reason : str
        What is wrong with it.
    """

    def __init__(self, path: Path, reason: str) -> None:
        reason = one_line(reason)
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True)
class Outcome:
    """What one repetition gave.

    Attributes
    ----------
    repetition : int
        0 for the first.
    seed : int
        Non-negative.
    status : {'done', 'failed', 'diverged', 'timeout', 'pending'}
        'pending': not run yet, in the record of a cell that was interrupted.
    accuracy : float or None
        Share of test rows predicted correctly, in [0, 1]; given exactly where ``status`` is 'done'.
    fit_seconds, predict_seconds : float or None
        Wall time; None where the step was not reached or not finished.
    error : str or None
        Why it is not done, made :func:`one_line`; None exactly where it is.
    environment : dict or None
        What it ran on, where that is not the record's own ``environment``: a repetition that was
        kept from an earlier run. None elsewhere, and then not in the file either.

    Raises
    ------
    ValueError
        A value outside of these rules; the message names the field.
    """

    repetition: int
    seed: int
    status: Status
    accuracy: float | None
    fit_seconds: float | None
    predict_seconds: float | None
    error: str | None
    environment: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.environment is not None:
            _require(isinstance(self.environment, dict), "environment", "a dict", self.environment)
            object.__setattr__(self, "environment", _plain(self.environment, "environment"))
        for name in ("repetition", "seed"):
            value = getattr(self, name)
            _require(type(value) is int and value >= 0, name, "a whole number >= 0", value)
        _require(self.status in STATUSES, "status", f"one of {', '.join(STATUSES)}", self.status)
        done = self.status == "done"
        for name in ("accuracy", "fit_seconds", "predict_seconds"):
            value = getattr(self, name)
            if value is not None:
                _require(_is_number(value) and value >= 0, name, "a finite number >= 0", value)
                object.__setattr__(self, name, float(value))
            elif done:
                raise ValueError(f"{name} must be given where status is 'done'.")
        if done:
            _require(self.accuracy is not None and self.accuracy <= 1, "accuracy", "in [0, 1]",
                     self.accuracy)  # fmt: skip
            _require(self.error is None, "error", "null where status is 'done'", self.error)
        else:
            _require(self.accuracy is None, "accuracy", "null unless status is 'done'",
                     self.accuracy)  # fmt: skip
            _require(isinstance(self.error, str) and self.error.strip() != "", "error",
                     f"a text that says why status is {self.status!r}", self.error)  # fmt: skip
            object.__setattr__(self, "error", one_line(str(self.error)))


@dataclass(frozen=True)
class Record:
    """One cell's outcomes and their provenance.

    Attributes
    ----------
    dataset, task, method : str
        Config names: letters, digits and ``. _ -``, the first a letter or digit, at most 100 long.
    identity : str
        Hex digest of everything that can change the numbers.
    config_sha256 : str
        Hex SHA-256 of the resolved config; names the file.
    config : dict
        The resolved config, JSON values only (tuples become lists).
    data_sha256 : str
        Hex SHA-256 of the task's rows and labels.
    code_fingerprint : str
        Hex digest of the numerical packages' code.
    outcomes : tuple of Outcome
        One a repetition; kept in the order of ``repetition``, which must be 0 .. n-1.
    environment : dict
        Versions, processor, threads, revision; JSON values only.
    schema : int
        Version of this layout.

    Raises
    ------
    ValueError
        A value outside of these rules; the message names the field.
    """

    dataset: str
    task: str
    method: str
    identity: str
    config_sha256: str
    config: dict[str, Any]
    data_sha256: str
    code_fingerprint: str
    outcomes: tuple[Outcome, ...]
    environment: dict[str, Any]
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        _require(type(self.schema) is int and self.schema == SCHEMA, "schema",
                 f"{SCHEMA}, the version that this code reads", self.schema)  # fmt: skip
        for name in ("dataset", "task", "method"):
            _check_name(name, getattr(self, name))
        for name, length in (
            ("identity", None), ("code_fingerprint", None),
            ("config_sha256", 64), ("data_sha256", 64),
        ):  # fmt: skip
            _check_hex(name, getattr(self, name), length)
        for name in ("config", "environment"):
            value = getattr(self, name)
            _require(isinstance(value, dict), name, "a dict", value)
            # A copy: the record must not change when the caller's dict does.
            object.__setattr__(self, name, _plain(value, name))
        _require(isinstance(self.outcomes, list | tuple), "outcomes", "a tuple", self.outcomes)
        for outcome in self.outcomes:
            _require(isinstance(outcome, Outcome), "outcomes", "of Outcome objects", outcome)
        ordered = tuple(sorted(self.outcomes, key=lambda outcome: outcome.repetition))
        numbers = [outcome.repetition for outcome in ordered]
        # An empty list would count as 'all done'.
        _require(len(numbers) > 0, "outcomes", "at least one", numbers)
        _require(numbers == list(range(len(numbers))), "outcomes",
                 f"repetitions 0..{len(numbers) - 1}, each once", numbers)  # fmt: skip
        object.__setattr__(self, "outcomes", ordered)
        self._check_config()

    def _check_config(self) -> None:
        """Refuse a record that contradicts its own config."""
        expected = sha256_of(self.config)
        _require(self.config_sha256 == expected, "config_sha256",
                 f"{expected}, that of the config", self.config_sha256)  # fmt: skip
        parts: dict[str, Any] = {
            key: self.config.get(key) for key in ("dataset", "method", "protocol")
        }
        if not all(isinstance(part, dict) for part in parts.values()):
            return  # not of a cell
        names = (parts["dataset"].get("name"), self.config.get("task"), parts["method"].get("name"))
        own = (self.dataset, self.task, self.method)
        _require(own == names, "dataset, task, method", f"{names}, as in the config", own)
        n = parts["protocol"].get("n_repetitions")
        _require(len(self.outcomes) == n, "outcomes", f"{n}, as in the config", len(self.outcomes))

    @property
    def complete(self) -> bool:
        """Whether every repetition is done."""
        return all(outcome.status == "done" for outcome in self.outcomes)

    @property
    def accuracies(self) -> tuple[float, ...]:
        """Accuracies of the repetitions that are done, in their order, in [0, 1]."""
        return tuple(outcome.accuracy for outcome in self.outcomes if outcome.accuracy is not None)

    @property
    def unfinished(self) -> tuple[Outcome, ...]:
        """The repetitions that failed, diverged, ran out of time or are pending."""
        return tuple(outcome for outcome in self.outcomes if outcome.status != "done")

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The repetitions that were run and are not done."""
        return tuple(o for o in self.unfinished if o.status != "pending")

    @property
    def pending(self) -> bool:
        """Whether the cell was interrupted: some repetition is still to run."""
        return any(outcome.status == "pending" for outcome in self.outcomes)

    @property
    def environments(self) -> tuple[dict[str, Any], ...]:
        """What each repetition ran on, in their order."""
        return tuple(
            self.environment if outcome.environment is None else outcome.environment
            for outcome in self.outcomes
        )


class Damage(NamedTuple):
    """A file or directory that a scan could not read as a record.

    Attributes
    ----------
    path : Path
    reason : str
    """

    path: Path
    reason: str


@dataclass(frozen=True)
class Scan:
    """What lies in a store; iterating over it yields the valid records.

    Attributes
    ----------
    records : tuple of Record
        Valid ones, sorted by path.
    damaged : tuple of Damage
        All else that claims to be a record, sorted by path.
    foreign : tuple of Path
        What does not even claim to be one and is not the store's own, sorted; hidden names aside.
    """

    records: tuple[Record, ...]
    damaged: tuple[Damage, ...]
    foreign: tuple[Path, ...] = ()
    _found: Mapping[Path, Record | Damage] = field(default_factory=dict, repr=False, compare=False)

    def at(self, path: Path) -> Record | Damage | None:
        """What was found at a path; None for nothing."""
        return self._found.get(path)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


def canonical_json(value: Any) -> str:
    """Write a value as JSON in the one form that the store uses.

    Sorted keys, indent 1, ASCII, a newline at the end; NaN and infinity are refused.

    Parameters
    ----------
    value : dict, list, str, int, float, bool or None

    Returns
    -------
    text : str

    Raises
    ------
    ValueError
        NaN or infinity.
    TypeError
        A value that JSON does not know.
    """
    return json.dumps(value, sort_keys=True, indent=1, allow_nan=False, ensure_ascii=True) + "\n"


def sha256_of(value: Any) -> str:
    """Hex SHA-256 of a value's :func:`canonical_json`; for a record's ``config_sha256``."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()


def dumps(record: Record) -> str:
    """Write a record as the text of its file, checksum included.

    Parameters
    ----------
    record : Record

    Returns
    -------
    text : str
        Canonical JSON; its key ``sha256`` is the checksum over the canonical JSON of the rest.
    """
    content = _content(record)
    return canonical_json(content | {"sha256": sha256_of(content)})


def _content(record: Record) -> dict[str, Any]:
    content = asdict(record)
    content["outcomes"] = list(content["outcomes"])
    for outcome in content["outcomes"]:
        for name in _OPTIONAL:
            if outcome[name] is None:
                del outcome[name]
    return content


def loads(text: bytes) -> Record:
    """Read a record from the bytes of its file and check all that the bytes alone can tell.

    Parameters
    ----------
    text : bytes

    Returns
    -------
    record : Record

    Raises
    ------
    ValueError, RecursionError
        Anything that :func:`dumps` would not have written.
    """
    try:
        content = json.loads(
            text.decode("ascii"), object_pairs_hook=_distinct, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not ASCII; the file is damaged") from None
    except json.JSONDecodeError as error:
        what = "empty" if not text.strip() else "not JSON"
        raise ValueError(f"{what} ({error}); the file is damaged or was cut off") from None
    _require(isinstance(content, dict), "the record", "a JSON object", type(content).__name__)
    # The version first: another one may have other keys.
    _require(content.get("schema") == SCHEMA, "schema",
             f"{SCHEMA}, the version that this code reads", content.get("schema"))  # fmt: skip
    _check_keys("the record", content, {field.name for field in fields(Record)} | {"sha256"})
    written = content.pop("sha256")
    # In the canonical form the checksum is a line of its own, and the rest is what it covers. That
    # saves writing the content anew; any other form goes the long way, to be told what is wrong.
    rest = text.replace(f' "sha256": "{written}",\n'.encode(), b"", 1)
    computed = hashlib.sha256(rest).hexdigest()
    if computed != written:
        computed = sha256_of(content)
    if written != computed:
        raise ValueError(
            f"checksum does not match (written {written!r}, computed {computed!r}): the file was "
            "edited or damaged; run the cell again"
        )
    _require(isinstance(content["outcomes"], list), "outcomes", "a list", content["outcomes"])
    outcomes = []
    for entry in content.pop("outcomes"):
        _require(isinstance(entry, dict), "outcomes", "a list of objects", entry)
        _check_keys(
            "an outcome", entry, {field.name for field in fields(Outcome)} - _OPTIONAL, _OPTIONAL
        )
        outcomes.append(Outcome(**entry))
    record = Record(outcomes=tuple(outcomes), **content)
    # Catches what parsing forgives, such as changed blanks or 1.0 written as 1.
    if canonical_json(_content(record) | {"sha256": written}).encode("ascii") != text:
        raise ValueError("not in canonical form: the file was edited or damaged")
    return record


class RecordStore:
    """Records below a directory, one file each.

    Any number of processes, on any number of machines, may write at once: the last one to finish
    a cell wins, except that a complete record is never replaced by an incomplete one of the same
    identity.

    Parameters
    ----------
    root : Path
        Need not exist; made by the first :meth:`write`.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    def path(self, dataset: str, task: str, method: str, config_sha256: str) -> Path:
        """Where the record of a cell lives, whether or not it exists.

        Parameters
        ----------
        dataset, task, method : str
        config_sha256 : str
            64 hex digits.

        Returns
        -------
        path : Path

        Raises
        ------
        ValueError
            A name that could lead out of the store, or a digest that is none.
        """
        for kind, name in (("dataset", dataset), ("task", task), ("method", method)):
            _check_name(kind, name)
        _check_hex("config_sha256", config_sha256, 64)
        return self.root / dataset / task / f"{method}-{config_sha256[:_PREFIX]}{_SUFFIX}"

    def path_of(self, record: Record) -> Path:
        """Where a record lives."""
        return self.path(record.dataset, record.task, record.method, record.config_sha256)

    def write(self, record: Record) -> Path:
        """Store a record: after a kill or a power cut it is there whole, or not at all.

        An older record of the same config is superseded. One of the same identity in which more
        repetitions are done stays: a second process that failed, or is not as far, must not undo
        the first's work. (Two writers that finish within the same instant may both find nothing
        there; then the later one wins.)

        A directory that lies where the record belongs is moved aside, not removed.

        Parameters
        ----------
        record : Record

        Returns
        -------
        path : Path
            The record's file.

        Raises
        ------
        OSError
            The disk is full, the directory not writable, and so on; no temporary file is left.
        """
        path = self.path_of(record)
        data = dumps(record).encode("ascii")
        if not record.complete:
            with contextlib.suppress(RecordError):
                there = self.read(path)
                if there.identity == record.identity and (
                    len(there.accuracies) > len(record.accuracies)
                ):
                    return path
        if path.is_dir() and not path.is_symlink():
            path.rename(path.with_name(f"{path.name}.aside-{secrets.token_hex(4)}"))
        with written_whole(path, durable=True) as file:
            file.write(data)
        return path

    def read(self, path: Path) -> Record:
        """Read one file and check everything about it.

        Parameters
        ----------
        path : Path
            As from :meth:`path` or :meth:`path_of`.

        Returns
        -------
        record : Record

        Raises
        ------
        RecordError
            Missing, unreadable, damaged, edited, of another schema, or in the wrong place.
        """
        try:
            # Opening a pipe would wait for ever.
            if not stat.S_ISREG(path.stat().st_mode):
                raise RecordError(path, "not a regular file")
            record = loads(path.read_bytes())
        except OSError as error:
            raise RecordError(path, f"cannot be read ({error.strerror or error})") from error
        except ValueError as error:
            raise RecordError(path, str(error)) from error
        except RecursionError as error:
            raise RecordError(path, "nested too deeply to be a record") from error
        expected = self.path_of(record)
        if path.parts[-3:] != expected.parts[-3:]:
            raise RecordError(path, f"holds the record that belongs to {expected}")
        return record

    def get(
        self,
        dataset: str,
        task: str,
        method: str,
        config_sha256: str,
        *,
        read: Callable[[Path], Record | Damage | None] | None = None,
    ) -> Record | None:
        """Read the record of a cell, or None where none was written.

        Parameters
        ----------
        dataset, task, method : str
        config_sha256 : str
        read : callable or None
            What gives the record at a path in place of the file, such as :meth:`Scan.at`.

        Returns
        -------
        record : Record or None

        Raises
        ------
        RecordError
            A file is there and damaged.
        ValueError
            Names or a digest that no cell has.
        """
        path = self.path(dataset, task, method, config_sha256)
        if read is not None:
            found = read(path)
            if isinstance(found, Damage):
                raise RecordError(*found)
            if found is None:
                return None
            record = found
        else:
            try:
                record = self.read(path)
            except RecordError as error:
                if isinstance(error.__cause__, FileNotFoundError) and not path.is_symlink():
                    return None
                raise
        # The name holds twelve digits only.
        if record.config_sha256 != config_sha256:
            raise RecordError(path, f"belongs to another config, {record.config_sha256}")
        return record

    def scan(self) -> Scan:
        """Read everything in the store; raises nothing, whatever lies there.

        Returns
        -------
        scan : Scan
            The valid records, and the path and reason of whatever is not one: damaged files,
            directories that cannot be opened, ``.json`` files where no record lives. Other names
            are foreign; hidden ones, such as the store's own temporary files, are passed over.
        """
        records: list[tuple[Path, Record]] = []
        damaged: list[Damage] = []
        foreign: list[Path] = []
        for path, at_depth in self._candidates(self.root, 0, damaged, foreign):
            if not at_depth:
                damaged.append(
                    Damage(path, "no record lives here; they lie in DATASET/TASK/ of the store")
                )
                continue
            try:
                records.append((path, self.read(path)))
            except RecordError as error:
                gone = isinstance(error.__cause__, FileNotFoundError) and not path.is_symlink()
                if not gone:  # else removed while we looked
                    damaged.append(Damage(path, error.reason))
        records.sort(key=lambda pair: pair[0])
        found: dict[Path, Record | Damage] = {damage.path: damage for damage in damaged}
        return Scan(
            tuple(record for _, record in records),
            tuple(sorted(damaged)),
            tuple(sorted(foreign)),
            found | dict(records),
        )

    def sweep(self, older_than_seconds: float = 3600.0) -> tuple[Path, ...]:
        """Remove temporary files and claims that a killed writer left behind.

        Parameters
        ----------
        older_than_seconds : float
            Younger ones may belong to a writer at work and stay.

        Returns
        -------
        removed : tuple of Path
        """
        names = (f"*/*/.*{_SUFFIX}.*{TEMPORARY}", f"*/*/.*{_SUFFIX}{CLAIM}*")
        paths = {path for name in names for path in self.root.glob(name)}
        return remove_old(paths, older_than_seconds)

    def _candidates(
        self, directory: Path, depth: int, damaged: list[Damage], foreign: list[Path]
    ) -> Iterator[tuple[Path, bool]]:
        """Yield every path that ends in .json, and whether it lies at the depth of records."""
        try:
            with os.scandir(directory) as entries:
                names = sorted(entry.name for entry in entries)
        except FileNotFoundError:
            return
        except OSError as error:
            damaged.append(Damage(directory, f"cannot be listed ({error.strerror or error})"))
            return
        for name in names:
            path = directory / name
            # os.path, for Path.is_dir raises where permission is lacking.
            if depth < 2 and os.path.isdir(path):  # noqa: PTH112
                yield from self._candidates(path, depth + 1, damaged, foreign)
            elif name.endswith(_SUFFIX):
                yield path, depth == 2
            elif not name.startswith("."):
                foreign.append(path)


def _require(holds: bool, name: str, expected: str, got: object) -> None:
    if not holds:
        raise ValueError(f"{name} must be {expected}, got {got!r}.")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max  # false for NaN, infinity and integers beyond a float


def _check_name(kind: str, name: object) -> None:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError(
            f"{kind} must be 1 to 100 letters, digits, '.', '_' or '-', the first a letter or "
            f"digit, got {name!r}."
        )


def _check_hex(name: str, digest: object, length: int | None) -> None:
    fits = isinstance(digest, str) and _HEX.fullmatch(digest) is not None
    if not fits or (length is not None and len(str(digest)) != length):
        what = "lower-case hex digits" if length is None else f"{length} lower-case hex digits"
        raise ValueError(f"{name} must be {what}, got {digest!r}.")


def _check_keys(
    what: str,
    content: Mapping[str, Any],
    expected: set[str],
    optional: frozenset[str] = frozenset(),
) -> None:
    missing = sorted(expected - set(content))
    unknown = sorted(set(content) - expected - optional)
    if missing or unknown:
        raise ValueError(f"{what} lacks the keys {missing} and has the unknown keys {unknown}.")


def _plain(value: Any, where: str) -> Any:
    """Copy a value made of JSON types; refuse all else, for it would not come back the same."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        _require(math.isfinite(value), where, "finite", value)
        return float(value)
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            _require(type(key) is str, f"a key of {where}", "a str", key)
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    raise ValueError(f"{where} must be of JSON types, got {type(value).__name__}: {value!r}.")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key stands twice in the same object")
    return content


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
