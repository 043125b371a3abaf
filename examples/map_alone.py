"""The Knothe-Rosenblatt map without labels or a classifier: forth, back, and the target's density.

Run it with ``python examples/map_alone.py``.
"""

import numpy as np

from krda import KnotheRosenblatt

rng = np.random.default_rng(0)
Xs = rng.normal(size=(500, 2))
Xt = rng.normal(size=(500, 2)) @ [[2.0, 1.0], [0.0, 0.5]] + [3.0, -1.0]

transport = KnotheRosenblatt(random_state=0).fit(Xs, Xt)
moved = transport.transform(Xs)
back = transport.inverse_transform(moved)

for name, X in (("source", Xs), ("transported", moved), ("target", Xt)):
    print(f"mean of the {name} rows: {X.mean(axis=0).round(1)}")
print(f"largest error of the way back: {np.abs(back - Xs).max():.0e}")
print(f"new rows of the target's density: {transport.sample(1000).mean(axis=0).round(1)}")
print(f"mean log-density of target rows: {transport.log_prob(Xt).mean():.1f}")
