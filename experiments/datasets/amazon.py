"""Amazon reviews in five dimensions: twelve tasks between four products.

The paper (section 6, "Amazon dataset") reduces 5000 term counts to 5 numbers by a network that is
trained on the source labels. These encodings ship with the repository, so that no task needs the
raw files or the network; :mod:`experiments.datasets.amazon_encoder` says how they were made and
``scripts/encode_amazon.py`` makes them again.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets.base import LockedLabels, Task

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


class Amazon:
    """The Amazon reviews, encoded: task ``B-D`` adapts from books to DVDs.

    Source rows are the source's 2000 training rows, target rows the target's 2000 training rows,
    test rows the target's test file (3586 to 5945 rows), all encoded by the network that was
    trained on the source's labelled training rows alone. Labels are 0 (fewer than three stars) and
    1, as in the paper.

    Parameters
    ----------
    path : str or Path, optional
        A file of encodings made by ``scripts/encode_amazon.py``; by default the committed one.
    """

    name = "amazon"

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = path

    @property
    def task_names(self) -> tuple[str, ...]:
        """The twelve ordered pairs of products, in the order of the paper's tables."""
        return tuple("-".join(pair) for pair in permutations(DOMAINS, 2))

    def task(self, name: str) -> Task:
        """Load one task.

        Parameters
        ----------
        name : str
            Source and target letter, ``B-D``.

        Returns
        -------
        task : Task
            Rows of shape (n, 5), float64; labels 0 and 1, int64.

        Raises
        ------
        ValueError
            No such task, or a file that does not hold what it should.
        FileNotFoundError
            No file of encodings.
        """
        if name not in self.task_names:
            raise ValueError(
                f"There is no task {name!r} in {self.name}; expected one of "
                f"{', '.join(self.task_names)}."
            )
        source, target = name.split("-")
        rows = [(source, "train"), (target, "train"), (target, "test")]
        keys = [encoding_key(source, *which) for which in rows]
        keys += [label_key(*which) for which in rows]
        arrays = read_arrays(DEFAULT_PATH if self.path is None else Path(self.path), keys)
        check_arrays(arrays)
        Xs, Xt, X_test = (arrays[key].astype(np.float64) for key in keys[:3])
        ys, yt, y_test = (arrays[key].astype(np.int64) for key in keys[3:])
        return Task(
            dataset=self.name,
            name=name,
            Xs=Xs,
            ys=ys,
            Xt=Xt,
            yt=LockedLabels(yt),
            X_test=X_test,
            y_test=LockedLabels(y_test),
        )


def read_arrays(path: Path, keys: list[str] | None = None) -> Arrays:
    """Read arrays from a file of encodings.

    Parameters
    ----------
    path : Path
    keys : list of str, optional
        Their names; by default all.

    Returns
    -------
    arrays : dict of str to ndarray

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        The file is damaged or lacks one of the arrays.
    """
    remedy = "Restore the committed file, or make it again with scripts/encode_amazon.py."
    if not path.is_file():
        raise FileNotFoundError(
            f"Expected a file of Amazon encodings at {path}, found none. {remedy}"
        )
    try:
        # numpy would leave a file that it opens itself open where it turns out to be cut.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {key: archive[key] for key in (archive.files if keys is None else keys)}
    except KeyError as error:
        raise ValueError(f"{path} lacks an array of the encodings: {error}. {remedy}") from error
    # A text or cut file is no zip at all; one with flipped bytes fails its CRC or its inflation.
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"{path} should be an intact .npz file of Amazon encodings, but cannot be read: "
            f"{error}. {remedy}"
        ) from error


def check_arrays(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check encodings and their labels, as many of them as there are.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        By :func:`encoding_key` and :func:`label_key`.

    Raises
    ------
    ValueError
        Encodings that are not float32 rows of one width, hold NaN or infinity, or differ from
        their labels in length; labels that are not 0 and 1. Also encodings of which every column
        is constant (standard deviation below 1e-6): all units of the encoder are dead. Single
        constant columns are accepted; ReLU makes them.
    """
    width = {array.shape[1:] for key, array in arrays.items() if key.startswith("X_")}
    if len(width) != 1:
        raise ValueError(f"Expected encodings of one width, got the row shapes {sorted(width)}.")
    for key, array in arrays.items():
        if key.startswith("y_"):
            if array.dtype != np.int8 or array.ndim != 1 or set(np.unique(array)) != {0, 1}:
                raise ValueError(
                    f"{key}: expected int8 labels 0 and 1, got {array.dtype} of shape "
                    f"{array.shape} with the values {np.unique(array)[:5].tolist()}."
                )
        elif key.startswith("X_"):
            if array.dtype != np.float32 or array.ndim != 2:
                raise ValueError(
                    f"{key}: expected float32 rows, got {array.dtype} of shape {array.shape}."
                )
            if not np.isfinite(array).all():
                raise ValueError(f"{key}: holds NaN or infinity.")
            if (array.std(axis=0, dtype=np.float64) < 1e-6).all():
                raise ValueError(
                    f"{key}: expected at least one column that varies, but every column is "
                    "constant: all units of the encoder are dead. Train it with another seed or "
                    "activation."
                )
            _, domain, split = key.split("_")[1:]
            labels = arrays[label_key(domain, split)]
            if len(labels) != len(array):
                raise ValueError(f"{key}: {len(array)} rows, but {len(labels)} labels.")


def read_metadata(path: Path = DEFAULT_PATH) -> dict[str, Any]:
    """Read how a file of encodings was made.

    Parameters
    ----------
    path : Path, optional
        By default the committed file.

    Returns
    -------
    metadata : dict
        ``raw_sha256`` (by file name), ``encoder`` (its settings), ``seed``, ``versions``.
    """
    metadata: dict[str, Any] = json.loads(str(read_arrays(path, ["metadata"])["metadata"]))
    return metadata
