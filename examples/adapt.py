"""Adapt a classifier with KRDA: moons whose target is turned by 40 degrees.

Run it with ``python examples/adapt.py``.
"""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from krda import KRDA

c, s = np.cos(np.pi * 40 / 180), np.sin(np.pi * 40 / 180)
Xs, ys = make_moons(300, noise=0.05, random_state=0)
Xt, yt = make_moons(300, noise=0.05, random_state=1)
Xt = (Xt - [0.5, 0.25]) @ [[c, s], [-s, c]] + [0.5, 0.25]

model = KRDA(random_state=0).fit(Xs, ys, Xt)  # target rows without labels

print(f"trained on the source as it is: {100 * SVC().fit(Xs, ys).score(Xt, yt):.1f} %")
print(f"trained on the transported source: {100 * model.score(Xt, yt):.1f} %")
