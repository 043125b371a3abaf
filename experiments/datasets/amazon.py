"""Amazon reviews in five dimensions: twelve tasks between four products.

The paper (section 6, "Amazon dataset") reduces 5000 term counts to 5 numbers by a network that is
trained on the source labels. These encodings ship with the repository, so that no task needs the
raw files or the network; :mod:`experiments.encoding.encoder` says how they were made and
``scripts/encode_amazon.py`` makes them again.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.base import Task, require_task

#: Products by their letter in the paper's tables, in the order of the tables.
DOMAINS = {"B": "books", "D": "dvd", "E": "electronics", "K": "kitchen"}
SPLITS = ("train", "test")
DEFAULT_PATH = Path(__file__).with_name("amazon_encodings.npz")

Arrays = dict[str, NDArray[Any]]


def encoding_key(source: str, domain: str, split: str) -> str:
    """Return the name of the rows of ``domain`` as the encoder of ``source`` encodes them."""
    return f"X_{source}_{domain}_{split}"


def label_key(domain: str, split: str) -> str:
    """Return the name of the labels of a domain's rows, the same for every encoder."""
    return f"y_{domain}_{split}"


@dataclass
class Amazon:
    """The Amazon reviews, encoded: task ``B-D`` adapts from books to DVDs.

    Source rows are the source's 2000 training rows, target rows the target's 2000 training rows,
    test rows the target's test file (3586 to 5945 rows), all encoded by the network that was
    trained on the source's labelled training rows alone. Labels are 0 (fewer than three stars) and
    1, as in the paper. ``path`` is another file of encodings than the committed one.
    """

    name = "amazon"

    task_names = tuple("-".join(pair) for pair in permutations(DOMAINS, 2))

    path: str | Path | None = None

    def task(self, name: str) -> Task:
        """Load one task."""
        require_task(self, name)
        source, target = name.split("-")
        parts = [(source, "train"), (target, "train"), (target, "test")]
        rows, labels = [encoding_key(source, *p) for p in parts], [label_key(*p) for p in parts]
        arrays = read_arrays(Path(self.path or DEFAULT_PATH), rows + labels)
        pairs = [
            (arrays[X].astype(np.float64), arrays[y].astype(np.int64))
            for X, y in zip(rows, labels, strict=True)
        ]
        return Task.lock(self.name, name, source=pairs[0], target=pairs[1], test=pairs[2])


def read_arrays(path: Path, keys: Sequence[str] | None = None) -> Arrays:
    """Read arrays from a file of encodings, by default all; its own checksums verify them."""
    try:
        # numpy would leave a file that it opens itself open if it turns out to be cut.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {key: archive[key] for key in (archive.files if keys is None else keys)}
    # A text or cut file is no zip at all; one with flipped bytes fails its CRC or its inflation.
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"{path} should be an intact .npz file of Amazon encodings, but cannot be read: "
            f"{error}. Restore the committed file, or make it with scripts/encode_amazon.py."
        ) from error


def read_metadata(path: Path = DEFAULT_PATH) -> dict[str, Any]:
    """Read how a file of encodings was made: raw files' checksums, encoder, seed, versions."""
    metadata: dict[str, Any] = json.loads(str(read_arrays(path, ["metadata"])["metadata"]))
    return metadata
