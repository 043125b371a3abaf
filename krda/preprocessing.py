r"""What makes a real table fit for a density: point masses spread, columns at one scale.

Both maps are increasing in each column, and the Knothe-Rosenblatt map does not change under such
maps: they change how well a density can be fitted, and nothing of the method's definition.

**Scale.** Each domain is standardised by its own mean and standard deviation, or both by those of
the pooled rows. By its own, every column has unit scale however far apart the domains are.

**Point masses.** A Rosenblatt transform takes a row to independent uniforms only if no conditional
has an atom. Counts, flags, rounded and zero-inflated columns do have atoms. The remedy is the
*distributional transform* (Rueschendorf 2009): the rows of an atom are spread at random over the
whole step of the distribution function,

    u = F(x-) + v (F(x) - F(x-)),    v uniform in (0, 1) and independent of x,

which is uniform again. Here each atom is widened to a cell of its own before a density is fitted,
and its rows are spread evenly over the cell; on the way back, all of a cell is the atom. So
transported rows take the target's own values in such columns, in the target's proportions.

A column is *discrete* if few values make up all of its rows: its cells are [0, 1), [1, 2), ... in
the order of the values. In other columns, such as a zero-inflated amount, each atom gets a cell of
one standard deviation that is inserted into the line.

References
----------
L. Rueschendorf (2009). On the distributional transform, Sklar's theorem, and the empirical copula
process. Journal of Statistical Planning and Inference 139, 3921-3927.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from krda.validation import FloatArray

Scaling = Literal["domain", "pooled"]
ColumnOrder = Literal["given", "reversed", "random"] | ArrayLike

# A column is discrete if its values are held by this many rows each, on average...
_ROWS_A_VALUE = 10
# ... or if they are whole numbers and held by this many: counts with a long tail.
_ROWS_A_WHOLE_NUMBER = 2
# In any other column a value is an atom if at least this share of the rows holds it...
_ATOM_SHARE = 0.05
# ... and this many: among a handful of rows one tie is a large share.
_ATOM_ROWS = 10
#: Rows of a table that are mapped at once: blocks of the transport enough for many threads.
BLOCK_ROWS = 2**17
# A column whose range is below this share of its largest magnitude is constant up to rounding.
_CONSTANT = 10 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of one column, and the cells that they are spread over."""

    values: FloatArray  # in increasing order; empty in a continuous column
    width: float  # of a cell
    discrete: bool  # whether the column has no other values

    def spread(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Spread atoms x (n,) over their cells, to the places v in [0, 1); shift other values.

        In a discrete column, a value that is no atom counts as the nearest one.
        """
        if not len(self.values):
            return x
        if self.discrete:
            middles = (self.values[1:] + self.values[:-1]) / 2
            return np.searchsorted(middles, x, side="right") + v
        below = np.searchsorted(self.values, x, side="left")
        return x + self.width * (below + np.where(self.is_atom(x), v, 0.0))

    def collapse(self, z: FloatArray) -> FloatArray:
        """Bring spread values z (n,) back: all of a cell becomes its atom."""
        if not len(self.values):
            return z
        if self.discrete:
            return self.values[np.clip(np.floor(z), 0, len(self.values) - 1).astype(np.intp)]
        left = self.values + self.width * np.arange(len(self.values))
        begun = np.searchsorted(left, z, side="right")
        last = np.maximum(begun - 1, 0)
        within = (begun > 0) & (z < left[last] + self.width)
        return np.where(within, self.values[last], z - self.width * begun)

    def is_atom(self, x: FloatArray) -> NDArray[np.bool_]:
        """Say which values are spread over a cell."""
        return np.full(x.shape, True) if self.discrete else np.isin(x, self.values)


def find_atoms(x: FloatArray) -> Atoms:
    """Find the atoms of a column (n,).

    They are all its values if these are held by 10 rows each on average, or by 2 if they are whole
    numbers; else the values that 5 % of the rows, and at least 10, hold.
    """
    values, counts = np.unique(x, return_counts=True)
    whole = bool((values == np.floor(values)).all())
    rows_a_value = _ROWS_A_WHOLE_NUMBER if whole else _ROWS_A_VALUE
    if len(values) * rows_a_value <= len(x):
        return Atoms(values, 1.0, discrete=True)
    frequent = counts >= max(_ATOM_SHARE * len(x), _ATOM_ROWS)
    return Atoms(values[frequent], float(x.std()), discrete=False)


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """From one domain's columns to those its density is fitted to, and back."""

    atoms: tuple[Atoms, ...]  # one a column
    location: FloatArray  # subtracted from a row whose atoms were spread
    scale: FloatArray  # which the difference is divided by, positive

    @property
    def has_atoms(self) -> bool:
        """Whether a column has atoms."""
        return any(len(a.values) for a in self.atoms)

    def forward(self, X: FloatArray, seed: int) -> FloatArray:
        """Map rows (n, d) to the density's columns; the seed is that of :func:`row_states`."""
        ((_, Z),) = self.forward_blocks(X, np.arange(X.shape[1]), seed, max(len(X), 1))
        return Z

    def forward_blocks(
        self, X: FloatArray, columns: NDArray[np.intp], seed: int, block_rows: int = BLOCK_ROWS
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Map some columns of a large table block by block: yield rows, and what they map to."""
        state = row_states((X[:, j] for j in columns), seed) if self.has_atoms else None
        for start in range(0, len(X), block_rows):
            rows = slice(start, start + block_rows)
            part = X[rows][:, columns]
            if state is not None:
                part = np.column_stack(list(_spread(part, self.atoms, state[rows])))
            yield rows, (part - self.location) / self.scale

    def backward(self, Z: FloatArray) -> FloatArray:
        """Map rows (n, d) of the density's columns to the domain's own."""
        spread = Z * self.scale + self.location
        columns = [a.collapse(z) for a, z in zip(self.atoms, spread.T, strict=True)]
        return np.column_stack(columns)

    def conditioning_value(self, column: int, z: FloatArray) -> FloatArray:
        """Move mapped values (n,) of one column to the centres of their cells, if they have any.

        Conditionals take these values: the place within a cell is random.
        """
        atoms = self.atoms[column]
        if not len(atoms.values):
            return z
        location, scale = self.location[column], self.scale[column]
        x = atoms.collapse(z * scale + location)
        return (atoms.spread(x, np.full(len(x), 0.5)) - location) / scale

    def training_tables(
        self, X: FloatArray, columns: NDArray[np.intp], seed: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Map some columns of a table; give the rows, and what conditionals take for them."""
        rows = np.empty((len(X), len(columns)), np.float32)
        conditioning_rows = np.empty_like(rows) if self.has_atoms else rows
        for block, Z in self.forward_blocks(X, columns, seed):
            rows[block] = Z
            if self.has_atoms:
                for i, z in enumerate(Z.T):
                    conditioning_rows[block, i] = self.conditioning_value(i, z)
        return rows, conditioning_rows

    def log_volume(self, X: FloatArray) -> FloatArray:
        """Logarithm of the factor from a density of the mapped rows to one of the rows X (n, d).

        That one is a density with respect to length for continuous values, and a probability for
        atoms.
        """
        result = np.full(len(X), -np.log(self.scale).sum())
        for atoms, x in zip(self.atoms, X.T, strict=True):
            if len(atoms.values):
                result += np.where(atoms.is_atom(x), np.log(atoms.width), 0.0)
        return result


def column_maps(
    Xs: FloatArray, Xt: FloatArray, scaling: Scaling, seed: int, *, spread: bool = True
) -> tuple[ColumnMap, ColumnMap]:
    """Compute the column maps of the source (n, d) and the target (m, d), without constant columns.

    With the scaling "domain" each domain has its own atoms, means and standard deviations; with
    "pooled" both have those of all rows, in which each domain counts half. ``spread=False`` looks
    for no atoms.
    """
    if scaling not in ("domain", "pooled"):
        raise ValueError(f"scaling must be 'domain' or 'pooled', got {scaling!r}.")
    none = Atoms(np.empty(0), 1.0, discrete=False)
    pooled = scaling == "pooled"
    searched = (np.vstack([Xs, Xt]),) * 2 if pooled else (Xs, Xt)
    atoms = [tuple(find_atoms(x) if spread else none for x in X.T) for X in searched]
    pairs = zip((Xs, Xt), atoms, strict=True)
    means, variances = np.stack([_moments(X, own, seed) for X, own in pairs], axis=1)
    if pooled:
        location = means.mean(axis=0)
        variance = (variances + (means - location) ** 2).mean(axis=0)
        means, variances = [location] * 2, [variance] * 2
    source, target = map(ColumnMap, atoms, means, np.sqrt(variances))
    return source, target


def _moments(X: FloatArray, atoms: Sequence[Atoms], seed: int) -> FloatArray:
    """Means and variances (2, d) of the columns with their atoms spread; no copy of the table."""
    state = row_states(X.T, seed) if any(len(own.values) for own in atoms) else None
    spread = X.T if state is None else _spread(X, atoms, state)
    columns = map(np.ascontiguousarray, spread)
    return np.transpose([(np.mean(x), np.var(x)) for x in columns])


def _spread(
    X: FloatArray, atoms: Sequence[Atoms], state: NDArray[np.uint64]
) -> Iterator[FloatArray]:
    """Spread the atoms of the columns, one after another, at places that follow from the states."""
    for x, own, v in zip(X.T, atoms, places(state), strict=False):
        yield own.spread(x, v)


def row_states(columns: Iterable[FloatArray], seed: int) -> NDArray[np.uint64]:
    """Hash each row (n,), and the number of equal rows before it; columns of shape (n,).

    A row has the same state alone, in another order, or among other rows. Equal rows differ by the
    number of them that come before.
    """
    state: NDArray[np.uint64] = np.array(seed, dtype=np.uint64)
    for column in columns:
        # -0.0 and 0.0 are one value.
        state = _mix(state ^ np.ascontiguousarray(column + 0.0).view(np.uint64))
    return _mix(state ^ _occurrence(state))


def places(state: NDArray[np.uint64]) -> Iterator[FloatArray]:
    """Columns (n,) of uniform numbers in [0, 1) that follow from the rows' states (n,)."""
    while True:
        state = _mix(state)
        yield (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of the SplitMix64 generator (Steele, Lea and Flood 2014), element by element."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _occurrence(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Count for each key how many equal ones come before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    positions = np.arange(len(keys))
    counts = np.empty(len(keys), dtype=np.uint64)
    counts[order] = positions - np.maximum.accumulate(np.where(first, positions, 0))
    return counts


def resolve_column_order(column_order: ColumnOrder, d: int, seed: int) -> NDArray[np.intp]:
    """Numbers of d columns in the order asked for; ValueError if it is no order."""
    given = np.arange(d)
    named = {
        "given": given,
        "reversed": given[::-1],
        "random": np.random.default_rng(seed).permutation(d),
    }
    order = named.get(column_order) if isinstance(column_order, str) else np.asarray(column_order)
    if order is None or order.shape != (d,) or not np.array_equal(np.sort(order), given):
        raise ValueError(
            "column_order must be 'given', 'reversed', 'random' or a permutation of the "
            f"{d} column numbers 0 to {d - 1}, got {column_order!r}."
        )
    return order.astype(np.intp)


def in_order(X: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Give some columns of a table; the table itself if these are all, as they are."""
    return X if np.array_equal(order, np.arange(X.shape[1])) else X[:, order]


def constant_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Say which columns of a table hold one value, up to rounding."""
    least, largest = X.min(axis=0), X.max(axis=0)
    with np.errstate(over="ignore"):  # a range beyond double precision is no constant
        return largest - least <= _CONSTANT * np.maximum(np.abs(least), np.abs(largest))


def squeezed_columns(Z: NDArray[np.floating], resolution: float) -> NDArray[np.intp]:
    """Find the columns of standardised rows whose outliers leave the other rows too little room.

    The inner 95 % of their rows lie within five times the resolution, which is the smallest
    standard deviation that the density can express, yet not on one value.
    """
    lower, upper = np.array([np.quantile(z, [0.025, 0.975]) for z in Z.T]).T
    return np.flatnonzero((upper > lower) & (upper - lower <= 5 * resolution))
