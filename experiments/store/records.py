"""The store of results: one small JSON file for each cell, whole or absent.

A cell is one data set, one task and one method under one resolved config. Its :class:`Record` holds
the outcome of every repetition and where the numbers came from. :class:`RecordStore` keeps it in
``ROOT/DATASET/TASK/METHOD-<12 hex of config_sha256>.json``:

- A record is written to a temporary file, flushed to disk and renamed. A reader, a second writer or
  a kill at any moment sees the old record or the new one.
- Reading checks the checksum, and that the record belongs to its path. Whatever fails is a
  :class:`RecordError` with a reason.

The checksum guards against accidents, such as a flipped bit or an edit by hand. It is no signature.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from experiments.store.text import canonical_json, one_line, sha256_of
from experiments.whole_files import written_whole

SCHEMA = 3
"""Version of the record's layout; a reader refuses every other."""

Status = Literal["done", "failed", "diverged", "timeout"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


class RecordError(Exception):
    """A file that is no valid record; ``path`` and ``reason`` say which and why."""

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

    Accuracies are in [0, 1]. They are given, and ``error`` is None, if the status is "done".
    Seconds are wall time, None if the step was not finished.
    """

    repetition: int
    seed: int
    status: Status
    accuracy: float | None
    balanced_accuracy: float | None
    fit_seconds: float | None
    predict_seconds: float | None
    error: str | None


@dataclass(frozen=True)
class Record:
    """One cell's outcomes, repetitions 0 to n-1 in order, and their provenance.

    ``identity`` is a hash of everything that can change the numbers; ``config_sha256`` names the
    file. The dictionaries hold JSON values.
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

    @property
    def complete(self) -> bool:
        """Whether every repetition is done."""
        return not self.unfinished

    @property
    def accuracies(self) -> tuple[float, ...]:
        """Accuracies of the repetitions that are done, in their order, in [0, 1]."""
        return tuple(outcome.accuracy for outcome in self.outcomes if outcome.accuracy is not None)

    @property
    def errors(self) -> list[str]:
        """A line on the repetitions that are not done, one for all that ended alike."""
        alike: dict[str, list[str]] = {}
        for o in self.unfinished:
            alike.setdefault(f"{o.status}: {o.error}", []).append(str(o.repetition))
        return [f"repetition {', '.join(own)} {end}" for end, own in alike.items()]

    @property
    def unfinished(self) -> tuple[Outcome, ...]:
        """The repetitions that are not done."""
        return tuple(outcome for outcome in self.outcomes if outcome.status != "done")


def dumps(record: Record) -> str:
    """Write a record as the text of its file; the key ``sha256`` is the checksum of the rest."""
    content = asdict(record) | {"schema": SCHEMA}
    return canonical_json(content | {"sha256": sha256_of(content)})


def loads(text: bytes) -> Record:
    """Read a record from the bytes of its file; an error if :func:`dumps` did not write them."""
    content = json.loads(text.decode("ascii"))
    # The checksum is a line of its own. Without it the bytes are what it was computed from, so that
    # they are also known to be in canonical form.
    written = content.pop("sha256", None)
    computed = hashlib.sha256(text.replace(f' "sha256": "{written}",\n'.encode(), b"", 1))
    if written != computed.hexdigest():
        raise ValueError("the checksum does not match: the file was edited or damaged")
    if (schema := content.pop("schema")) != SCHEMA:
        raise ValueError(f"its schema is {schema}, not {SCHEMA}")
    outcomes = tuple(Outcome(**entry) for entry in content.pop("outcomes"))
    return Record(outcomes=outcomes, **content)


@dataclass(frozen=True)
class Scan:
    """The valid records of a store and what is wrong with the other files, sorted by path."""

    records: tuple[Record, ...]
    damaged: tuple[RecordError, ...]

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


class RecordStore:
    """Records below a directory, one file each; the directory is made by the first write."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    def path(self, dataset: str, task: str, method: str, config_sha256: str) -> Path:
        """Place of a cell's record, present or not; ValueError for names that no cell has."""
        for kind, name in (("dataset", dataset), ("task", task), ("method", method)):
            if _NAME.fullmatch(name) is None:
                raise ValueError(
                    f"{kind} must be 1 to 100 letters, digits, '.', '_' or '-', the first a letter "
                    f"or digit, got {name!r}."
                )
        return self.root / dataset / task / f"{method}-{config_sha256[:12]}.json"

    def path_of(self, record: Record) -> Path:
        """Place of a record."""
        return self.path(record.dataset, record.task, record.method, record.config_sha256)

    def write(self, record: Record) -> Path:
        """Store a record, whole or not at all, and give its path.

        It replaces the config's older record, except one of the same identity in which more
        repetitions are done. OSError (full disk, no permission) leaves no temporary file.
        """
        path = self.path_of(record)
        if not record.complete:
            with contextlib.suppress(RecordError):
                there = self.read(path)
                more = len(there.accuracies) > len(record.accuracies)
                if there.identity == record.identity and more:
                    return path
        with written_whole(path, durable=True) as file:
            file.write(dumps(record).encode("ascii"))
        return path

    def read(self, path: Path) -> Record:
        """Read one file and check everything about it; RecordError says what is wrong."""
        try:
            record = loads(path.read_bytes())
            expected = self.path_of(record)
        except OSError as error:
            raise RecordError(path, f"cannot be read ({error.strerror or error})") from error
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise RecordError(path, f"no valid record: {error}") from error
        if path.parts[-3:] != expected.parts[-3:]:
            raise RecordError(path, f"holds the record that belongs to {expected}")
        return record

    def get(self, dataset: str, task: str, method: str, config_sha256: str) -> Record | None:
        """Read the record of a cell; None if it was never written, RecordError if damaged."""
        path = self.path(dataset, task, method, config_sha256)
        return self.read(path) if os.path.lexists(path) else None

    def scan(self) -> Scan:
        """Read every ``.json`` file below the root; hidden names are the store's own."""
        records: list[Record] = []
        damaged: list[RecordError] = []
        for path in sorted(self.root.rglob("[!.]*.json")):
            try:
                records.append(self.read(path))
            except RecordError as error:
                damaged.append(error)
        return Scan(tuple(records), tuple(damaged))
