"""What makes a real table fit for a density: atoms spread, columns at one scale, constants aside.

A conditional density is learnt on columns without point masses (:mod:`krda.atoms`) and of about
unit scale. Each domain can be standardised by its own mean and standard deviation or both by those
of the pooled rows. The Knothe-Rosenblatt map does not change under increasing maps of single
columns, so none of this touches its definition; what changes is how well the shared part of the
network serves both domains. Standardising each domain by itself keeps every column at unit scale
however far apart the domains are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from krda.atoms import Atoms, find_atoms

FloatArray = NDArray[np.float64]
Scaling = Literal["domain", "pooled"]

# A column whose range is below this share of its largest magnitude is constant up to rounding;
# dividing by such a number would blow rounding errors up to unit scale.
_CONSTANT = 10 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Standardization:
    """Location and scale of one domain's columns.

    Attributes
    ----------
    location, scale : ndarray of shape (d,)
        Subtracted from a row, then divided by; scales are positive.
    """

    location: FloatArray
    scale: FloatArray

    def forward(self, X: FloatArray) -> FloatArray:
        """Bring rows (n, d) to unit scale."""
        return (X - self.location) / self.scale

    def backward(self, Z: FloatArray) -> FloatArray:
        """Bring rows (n, d) back to the domain's own scale."""
        return Z * self.scale + self.location


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """From one domain's columns to those its density is fitted to, and back.

    Attributes
    ----------
    atoms : tuple of Atoms, one a column
    standardization : Standardization
        Of the columns after their atoms were spread.
    """

    atoms: tuple[Atoms, ...]
    standardization: Standardization

    @property
    def has_atoms(self) -> bool:
        """Whether a column has atoms."""
        return any(len(a.values) for a in self.atoms)

    def forward(self, X: FloatArray, seed: int) -> FloatArray:
        """Map rows to the density's columns.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        seed : int
            Of the places within the cells of atoms, see :func:`random_places`.

        Returns
        -------
        Z : ndarray of shape (n, d)
        """
        return self.standardization.forward(spread_atoms(X, self.atoms, seed))

    def forward_blocks(
        self, X: FloatArray, columns: NDArray[np.intp], seed: int, block_rows: int
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Map some columns of a large table block by block, number for number as in one go.

        Parameters
        ----------
        X : ndarray of shape (n, m)
        columns : ndarray of int, shape (d,)
            The columns of X that are mapped, in the density's order.
        seed : int
        block_rows : int

        Yields
        ------
        rows : slice
        Z : ndarray of shape (n_rows, d)
            Those rows, mapped.
        """
        state = row_states((X[:, j] for j in columns), seed) if self.has_atoms else None
        for start in range(0, len(X), block_rows):
            rows = slice(start, start + block_rows)
            part = X[rows][:, columns]
            if state is not None:
                part = _spread(part, self.atoms, _places(state[rows], len(columns)))
            yield rows, self.standardization.forward(part)

    def backward(self, Z: FloatArray) -> FloatArray:
        """Map rows (n, d) of the density's columns to the domain's own."""
        spread = self.standardization.backward(Z)
        columns = [a.collapse(z) for a, z in zip(self.atoms, spread.T, strict=True)]
        return np.column_stack(columns)

    def centres(self, column: int, z: FloatArray) -> FloatArray:
        """Move mapped values of one column to the centres of the cells that they lie in.

        Parameters
        ----------
        column : int
        z : ndarray of shape (n,)

        Returns
        -------
        given : ndarray of shape (n,)
            What a conditional density is to be given: values in no cell stay where they are.
        """
        atoms = self.atoms[column]
        if not len(atoms.values):
            return z
        location, scale = self.standardization.location[column], self.standardization.scale[column]
        x = atoms.collapse(z * scale + location)
        return (atoms.spread(x, np.full(len(x), 0.5)) - location) / scale

    def all_centres(self, Z: FloatArray) -> FloatArray:
        """Move mapped rows (n, d) to the centres of their cells; Z itself if there are none."""
        if not self.has_atoms:
            return Z
        return np.column_stack([self.centres(i, z) for i, z in enumerate(Z.T)])

    def log_volume(self, X: FloatArray) -> FloatArray:
        """Logarithm of what a density of the mapped rows is multiplied with to be one of rows X.

        Parameters
        ----------
        X : ndarray of shape (n, d)

        Returns
        -------
        log_volume : ndarray of shape (n,)
            The result is a density with respect to length for continuous values, and a probability
            for atoms.
        """
        result = np.full(len(X), -np.log(self.standardization.scale).sum())
        for atoms, x in zip(self.atoms, X.T, strict=True):
            if len(atoms.values):
                result += np.where(atoms.is_atom(x), np.log(atoms.width), 0.0)
        return result


def spread_atoms(X: FloatArray, atoms: tuple[Atoms, ...], seed: int) -> FloatArray:
    """Spread every column's atoms over their cells.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    atoms : tuple of Atoms, one a column
    seed : int

    Returns
    -------
    S : ndarray of shape (n, d)
    """
    if not any(len(a.values) for a in atoms):
        return X
    return _spread(X, atoms, random_places(X, seed))


def _spread(X: FloatArray, atoms: tuple[Atoms, ...], places: FloatArray) -> FloatArray:
    columns = [a.spread(x, v) for a, x, v in zip(atoms, X.T, places.T, strict=True)]
    return np.column_stack(columns)


def random_places(X: FloatArray, seed: int) -> FloatArray:
    """Draw uniform numbers that belong to rows, wherever in a table these stand.

    A row has the same numbers alone, in another order, or among other rows. Equal rows are told
    apart by how many of them stand before; carried one at a time they all count as the first.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    seed : int

    Returns
    -------
    places : ndarray of shape (n, d)
        In [0, 1).
    """
    return _places(row_states(X.T, seed), X.shape[1])


def row_states(columns: Iterable[FloatArray], seed: int) -> NDArray[np.uint64]:
    """Hash each row, and how many equal ones stand before it: what its places are made from.

    Parameters
    ----------
    columns : iterable of ndarray of shape (n,)
        The table's columns.
    seed : int

    Returns
    -------
    state : ndarray of shape (n,), uint64
    """
    state: NDArray[np.uint64] = np.array(seed, dtype=np.uint64)
    for column in columns:
        # -0.0 and 0.0 are one value.
        state = _mix(state ^ np.ascontiguousarray(column + 0.0).view(np.uint64))
    return _mix(state ^ _occurrence(state))


def _places(state: NDArray[np.uint64], d: int) -> FloatArray:
    """Numbers (n, d) in [0, 1) that follow from the rows' states (n,)."""
    numbers = np.empty((len(state), d))
    for i in range(d):
        state = _mix(state)
        numbers[:, i] = (state >> np.uint64(11)) * 2.0**-53
    return numbers


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of the SplitMix64 generator (Steele, Lea and Flood 2014), element by element."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _occurrence(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Count for each key how many equal ones stand before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    positions = np.arange(len(keys))
    start = np.maximum.accumulate(np.where(first, positions, 0))
    counts = np.empty(len(keys), dtype=np.uint64)
    counts[order] = positions - start
    return counts


def column_maps(
    Xs: FloatArray, Xt: FloatArray, scaling: Scaling, seed: int, *, spread: bool = True
) -> tuple[ColumnMap, ColumnMap]:
    """Compute the column maps of the source and of the target.

    Parameters
    ----------
    Xs : ndarray of shape (n_source, d)
    Xt : ndarray of shape (n_target, d)
        Without constant columns.
    scaling : {"domain", "pooled"}
    seed : int
        Of the places within the cells of atoms.
    spread : bool, default=True
        Whether atoms are looked for.

    Returns
    -------
    source, target : ColumnMap
        With "domain" each domain has atoms of its own; with "pooled" both have those of all rows,
        so that one scale fits both.
    """
    none = Atoms(np.empty(0), 1.0, discrete=False)
    searched = (np.vstack([Xs, Xt]),) * 2 if scaling == "pooled" else (Xs, Xt)
    atoms = [tuple(find_atoms(x) if spread else none for x in X.T) for X in searched]
    rows = [spread_atoms(X, a, seed) for X, a in zip((Xs, Xt), atoms, strict=True)]
    scales = standardizations(rows[0], rows[1], scaling)
    return ColumnMap(atoms[0], scales[0]), ColumnMap(atoms[1], scales[1])


def constant_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Find the columns that hold one value, up to rounding.

    Parameters
    ----------
    X : ndarray of shape (n, d)

    Returns
    -------
    constant : ndarray of shape (d,), bool
    """
    least, largest = X.min(axis=0), X.max(axis=0)
    with np.errstate(over="ignore"):  # a range beyond double precision is no constant
        return largest - least <= _CONSTANT * np.maximum(np.abs(least), np.abs(largest))


def unscalable_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Find the columns whose standard deviation is no positive number in double precision.

    Parameters
    ----------
    X : ndarray of shape (n, d)

    Returns
    -------
    unscalable : ndarray of shape (d,), bool
        Of columns that are not constant, those of numbers beyond some 1e-160 to 1e150.
    """
    with np.errstate(all="ignore"):
        deviation = _standard_deviations(X)
    return ~((deviation > 0) & (deviation < np.inf))


def squeezed_columns(Z: FloatArray, resolution: float) -> NDArray[np.intp]:
    """Find the columns whose outliers leave the other rows too little room.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Standardised rows.
    resolution : float
        Smallest standard deviation that the density can express.

    Returns
    -------
    columns : ndarray of int
        Those whose inner 95 % of rows lie within five times the resolution, yet not on one value.
    """
    lower, upper = np.array([np.quantile(z, [0.025, 0.975]) for z in Z.T]).T
    return np.flatnonzero((upper > lower) & (upper - lower <= 5 * resolution))


def standardizations(
    Xs: FloatArray, Xt: FloatArray, scaling: Scaling
) -> tuple[Standardization, Standardization]:
    """Compute the standardisation of the source and of the target.

    Parameters
    ----------
    Xs : ndarray of shape (n_source, d)
    Xt : ndarray of shape (n_target, d)
        Without constant columns.
    scaling : {"domain", "pooled"}
        Each domain by its own mean and standard deviation, or both by those of the pooled rows,
        in which each domain counts half whatever its size.

    Returns
    -------
    source, target : Standardization

    Raises
    ------
    ValueError
        Another value of ``scaling``.
    """
    # Column by column: a column's numbers then do not depend on how the table lies in memory, and
    # no further table is made.
    means = [np.array([np.mean(x) for x in _columns(X)]) for X in (Xs, Xt)]
    if scaling == "domain":
        return (
            Standardization(means[0], _standard_deviations(Xs)),
            Standardization(means[1], _standard_deviations(Xt)),
        )
    if scaling == "pooled":
        location = (means[0] + means[1]) / 2
        variance = (((Xs - location) ** 2).mean(axis=0) + ((Xt - location) ** 2).mean(axis=0)) / 2
        pooled = Standardization(location, np.sqrt(variance))
        return pooled, pooled
    raise ValueError(f"scaling must be 'domain' or 'pooled', got {scaling!r}.")


def _standard_deviations(X: FloatArray) -> FloatArray:
    return np.array([np.std(x) for x in _columns(X)])


def _columns(X: FloatArray) -> Iterator[FloatArray]:
    """Give a table's columns one after another, each in a piece of memory."""
    return (np.ascontiguousarray(x) for x in X.T)
