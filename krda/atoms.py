r"""Point masses of a column, spread out so that a density can model them.

A Rosenblatt transform takes a row to independent uniforms only where no conditional has an atom.
Counts, flags, rounded and zero-inflated columns do have atoms. The remedy is the *distributional
transform* (Rueschendorf 2009): an atom's rows are spread at random over the whole step of the
distribution function,

    u = F(x-) + v (F(x) - F(x-)),    v uniform in (0, 1) and independent of x,

which is uniform again. Here it is done before a density is fitted: each atom is widened to a cell
of its own, in an order-preserving way, and its rows are spread evenly over the cell. On the way
back, all of a cell is the atom. The Knothe-Rosenblatt map does not change under increasing maps
of single columns, so that nothing else of the method changes; carried rows take the target's own
values in such columns, in the target's own proportions.

A column is *discrete* where few values make up all of its rows: its cells are [0, 1), [1, 2), ...
in the order of the values. Carried rows then hold the target's own values and no others. Any other
column may have single atoms, such as the zeros of a zero-inflated amount: each gets a cell of one
standard deviation that is inserted into the line.

References
----------
L. Rueschendorf (2009). On the distributional transform, Sklar's theorem, and the empirical copula
process. Journal of Statistical Planning and Inference 139, 3921-3927.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# A column is discrete if its values are held by at least so many rows each, on average...
_ROWS_A_VALUE = 10
# ... or if they are whole numbers and held by so many: counts with a long tail.
_ROWS_A_WHOLE_NUMBER = 2
# In any other column a value is an atom if at least this share of the rows holds it...
_ATOM_SHARE = 0.05
# ... and at least so many rows: among a handful of rows one tie is a large share.
_ATOM_ROWS = 10


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of one column, and the cells that they are spread over.

    Attributes
    ----------
    values : ndarray of shape (n_atoms,)
        The atoms, in increasing order; empty in a continuous column.
    width : float
        Width of a cell.
    discrete : bool
        Whether the column has no other values.
    """

    values: FloatArray
    width: float
    discrete: bool

    def spread(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Spread atoms over their cells and shift the values between them.

        Parameters
        ----------
        x : ndarray of shape (n,)
            In a discrete column, a value that is no atom counts as the nearest one.
        v : ndarray of shape (n,)
            In [0, 1): where in the cell; uniform for the distributional transform. Rows that are
            no atom ignore it.

        Returns
        -------
        z : ndarray of shape (n,)
        """
        if not len(self.values):
            return x
        if self.discrete:
            return self._nearest(x) + v
        below = np.searchsorted(self.values, x, side="left")
        return x + self.width * (below + np.where(self.is_atom(x), v, 0.0))

    def collapse(self, z: FloatArray) -> FloatArray:
        """Bring spread values back: all of a cell becomes its atom.

        Parameters
        ----------
        z : ndarray of shape (n,)
            In a discrete column, what lies beyond the outermost cells counts as within them.

        Returns
        -------
        x : ndarray of shape (n,)
        """
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
        if self.discrete:
            return np.ones(x.shape, dtype=np.bool_)
        return np.isin(x, self.values)

    def _nearest(self, x: FloatArray) -> NDArray[np.intp]:
        middles = (self.values[1:] + self.values[:-1]) / 2
        return np.searchsorted(middles, x, side="right")


def find_atoms(x: FloatArray) -> Atoms:
    """Find the atoms of a column.

    Parameters
    ----------
    x : ndarray of shape (n,)

    Returns
    -------
    atoms : Atoms
        All values where they are held by 10 rows each on average, or by 2 if they are whole
        numbers; else those that 5 % of the rows, and at least 10, hold.
    """
    values, counts = np.unique(x, return_counts=True)
    whole = bool((values == np.floor(values)).all())
    rows_a_value = _ROWS_A_WHOLE_NUMBER if whole else _ROWS_A_VALUE
    if len(values) * rows_a_value <= len(x):
        return Atoms(values, 1.0, discrete=True)
    frequent = counts >= max(_ATOM_SHARE * len(x), _ATOM_ROWS)
    return Atoms(values[frequent], float(x.std()), discrete=False)
